package software.amazon.eventstream

import java.nio.ByteBuffer
import java.util
import java.util.function.Consumer
import java.util.zip.CRC32

/** Cuts the bytes of an event stream into whole messages, as they came. It holds what has arrived of a message that is not whole yet, and
  * nothing between messages. Not thread-safe.
  *
  * @param take a whole message, of which the checksum of its lengths has been compared
  * @see [[https://smithy.io/2.0/aws/amazon-eventstream.html the format]]
  */
final class MessageFrames(take: Consumer[ByteBuffer]) {
  private var begun = Option.empty[Begun]

  /** Takes all of it.
    *
    * @throws java.lang.IllegalArgumentException where the lengths of a message are damaged; the stream is of no more use then
    */
  def feed(bytes: ByteBuffer): Unit =
    while (bytes.hasRemaining) begun match {
      case Some(message)             => addTo(message, bytes)
      case None if holdsWhole(bytes) => take.accept(cut(bytes, lengthAt(bytes)))
      case None                      => begun = Some(new Begun)
    }

  /** The bytes so far of a message that is not whole. */
  def held: ByteBuffer = begun.fold(ByteBuffer.allocate(0))(_.soFar)

  private def holdsWhole(bytes: ByteBuffer) =
    bytes.remaining >= Prelude.LENGTH_WITH_CRC && bytes.remaining >= lengthAt(bytes)

  /** Checks the lengths' own checksum, so that a damaged length is never believed. */
  private def lengthAt(bytes: ByteBuffer) = Prelude.decode(bytes.duplicate()).getTotalLength

  private def addTo(message: Begun, bytes: ByteBuffer): Unit = if (message.takeFrom(bytes)) {
    begun = None
    take.accept(message.soFar)
  }

  private def cut(bytes: ByteBuffer, length: Int): ByteBuffer = {
    val message = bytes.duplicate()
    message.limit(message.position() + length)
    bytes.position(message.limit())
    message
  }

  /** A message whose bytes come in parts: first its lengths, and, when they are known, the rest. */
  private final class Begun {
    private var bytes = ByteBuffer.allocate(Prelude.LENGTH_WITH_CRC)

    /** Whether the message is whole now. */
    def takeFrom(more: ByteBuffer): Boolean = {
      bytes.put(cut(more, math.min(bytes.remaining, more.remaining)))
      if (bytes.hasRemaining) false
      else if (bytes.capacity > Prelude.LENGTH_WITH_CRC) true
      else {
        val length = lengthAt(soFar)
        bytes = ByteBuffer.allocate(length).put(soFar)
        !bytes.hasRemaining
      }
    }

    def soFar: ByteBuffer = bytes.duplicate().flip()
  }
}

/** A whole message, its payload where it came. */
final class MessageFrame private (val headers: util.Map[String, HeaderValue], val payload: ByteBuffer)

object MessageFrame {

  /** @throws java.lang.RuntimeException where a checksum, a length or a header is wrong */
  def read(message: ByteBuffer): MessageFrame = {
    val lengths = Prelude.decode(message.duplicate())
    val headers = Prelude.LENGTH_WITH_CRC + Math.toIntExact(lengths.getHeadersLength)
    val end     = lengths.getTotalLength - ChecksumBytes
    val sum     = new CRC32
    sum.update(part(message, 0, end))
    if (sum.getValue.toInt != message.getInt(message.position() + end))
      throw new IllegalArgumentException("Message checksum failure")
    new MessageFrame(
      Message.decodeHeaders(part(message, Prelude.LENGTH_WITH_CRC, headers)),
      part(message, headers, end)
    )
  }

  private def part(of: ByteBuffer, from: Int, until: Int) =
    of.duplicate().limit(of.position() + until).position(of.position() + from)

  private val ChecksumBytes = 4
}
