package software.amazon.eventstream

import java.nio.{BufferUnderflowException, ByteBuffer}
import java.util
import java.util.Collections
import java.util.function.Consumer

/** Cuts the bytes of an event stream into messages, in the place of the class of this name in the library of this name: the
  * SDK makes one for each subscription, and the library's takes 2 MiB of heap before it has seen a byte, so that a thousand
  * shards would cost 2 GiB. This one holds what has arrived of a message that is not whole yet, and nothing between messages.
  *
  * Not thread-safe, as the library's. The JAR carries it under the SDK's relocated name, so no other SDK of an application
  * ever meets it.
  *
  * @see [[https://smithy.io/2.0/aws/amazon-eventstream.html the format]]
  */
final class MessageDecoder(take: Consumer[Message]) {
  private var decoded = new util.ArrayList[Message]
  private var begun   = Option.empty[Begun]

  /** Messages are to be asked for by [[getDecodedMessages]]. */
  def this() = this(null)

  /** Those since it was asked last. */
  def getDecodedMessages(): util.List[Message] = {
    require(take == null, "the messages go to the consumer that was given")
    val all = decoded
    decoded = new util.ArrayList[Message]
    Collections.unmodifiableList(all)
  }

  def feed(bytes: Array[Byte]): Unit                           = feed(ByteBuffer.wrap(bytes)): Unit
  def feed(bytes: Array[Byte], offset: Int, length: Int): Unit = feed(ByteBuffer.wrap(bytes, offset, length)): Unit

  /** Takes all of it.
    *
    * @throws java.lang.IllegalArgumentException where a checksum or a length is wrong; the stream is of no more use then
    */
  def feed(bytes: ByteBuffer): MessageDecoder = {
    while (bytes.hasRemaining) begun match {
      case Some(message)             => addTo(message, bytes)
      case None if holdsWhole(bytes) => emit(cut(bytes, lengthAt(bytes)))
      case None                      => begun = Some(new Begun)
    }
    this
  }

  private def holdsWhole(bytes: ByteBuffer) =
    bytes.remaining >= Prelude.LENGTH_WITH_CRC && bytes.remaining >= lengthAt(bytes)

  /** Checks the lengths' own checksum, so that a damaged length is never believed. */
  private def lengthAt(bytes: ByteBuffer) = Prelude.decode(bytes.duplicate()).getTotalLength

  private def addTo(message: Begun, bytes: ByteBuffer): Unit = if (message.takeFrom(bytes)) {
    begun = None
    emit(message.whole)
  }

  private def cut(bytes: ByteBuffer, length: Int): ByteBuffer = {
    val message = bytes.duplicate()
    message.limit(message.position() + length)
    bytes.position(message.limit())
    message
  }

  private def emit(message: ByteBuffer): Unit = {
    val one =
      try Message.decode(message)
      catch {
        case e: BufferUnderflowException =>
          throw new IllegalArgumentException("Illegal headers: they end beyond the message", e)
      }
    if (take == null) decoded.add(one): Unit else take.accept(one)
  }

  /** A message whose bytes come in parts: first its lengths, and, when they are known, the rest. */
  private final class Begun {
    private var held = ByteBuffer.allocate(Prelude.LENGTH_WITH_CRC)

    /** Whether the message is whole now. */
    def takeFrom(bytes: ByteBuffer): Boolean = {
      held.put(cut(bytes, math.min(held.remaining, bytes.remaining)))
      if (held.hasRemaining) false
      else if (held.capacity > Prelude.LENGTH_WITH_CRC) true
      else {
        val length = lengthAt(whole)
        held = ByteBuffer.allocate(length).put(whole)
        !held.hasRemaining
      }
    }

    def whole: ByteBuffer = held.duplicate().flip()
  }
}
