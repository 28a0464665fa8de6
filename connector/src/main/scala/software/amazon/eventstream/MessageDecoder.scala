package software.amazon.eventstream

import java.nio.{BufferUnderflowException, ByteBuffer}
import java.util
import java.util.Collections

/** Cuts the bytes of an event stream into messages, in the place of the class of this name in the library of this name: the
  * SDK makes one for each subscription, and the library's takes 2 MiB of heap before it has seen a byte, so that a thousand
  * shards would cost 2 GiB. This one holds what [[MessageFrames]] holds.
  *
  * Not thread-safe, as the library's. It has what the SDK calls. The JAR carries it under the SDK's relocated name, so no other SDK of an application
  * ever meets it.
  *
  * @see [[https://smithy.io/2.0/aws/amazon-eventstream.html the format]]
  */
final class MessageDecoder {
  private var decoded = new util.ArrayList[Message]
  private val frames  = new MessageFrames(add)

  /** Those since it was asked last. */
  def getDecodedMessages(): util.List[Message] = {
    val all = decoded
    decoded = new util.ArrayList[Message]
    Collections.unmodifiableList(all)
  }

  /** Takes all of it.
    *
    * @throws java.lang.IllegalArgumentException where a checksum or a length is wrong; the stream is of no more use then
    */
  def feed(bytes: ByteBuffer): MessageDecoder = {
    frames.feed(bytes)
    this
  }

  private def add(message: ByteBuffer): Unit =
    try decoded.add(Message.decode(message)): Unit
    catch {
      case e: BufferUnderflowException =>
        throw new IllegalArgumentException("Illegal headers: they end beyond the message", e)
    }
}
