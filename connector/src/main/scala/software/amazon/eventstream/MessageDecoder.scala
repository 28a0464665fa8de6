package software.amazon.eventstream

import java.nio.{BufferUnderflowException, ByteBuffer}
import java.util
import java.util.Collections
import java.util.function.Consumer

/** Cuts the bytes of an event stream into messages, in the place of the class of this name in the library of this name: the
  * SDK makes one for each subscription, and the library's takes 2 MiB of heap before it has seen a byte, so that a thousand
  * shards would cost 2 GiB. This one holds what [[MessageFrames]] holds.
  *
  * Not thread-safe, as the library's. The JAR carries it under the SDK's relocated name, so no other SDK of an application
  * ever meets it.
  *
  * @see [[https://smithy.io/2.0/aws/amazon-eventstream.html the format]]
  */
final class MessageDecoder(take: Consumer[Message]) {
  private var decoded = new util.ArrayList[Message]
  private val frames  = new MessageFrames(emit)

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
    frames.feed(bytes)
    this
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
}
