package io.github.kinesisspark.testkit.wire

import io.github.kinesisspark.testkit.model.ServiceError
import software.amazon.eventstream.{HeaderValue, Message}

import java.nio.ByteBuffer
import scala.jdk.CollectionConverters._

/** The messages of an event stream, in the framing that the service and its SDKs share: a prelude, headers, a payload, and
  * a checksum over each part.
  *
  * @see [[https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html the framing, where it is told]]
  */
private[testkit] object EventFrame {
  val ContentType = "application/vnd.amazon.eventstream"

  /** The answer to the call itself. It comes first, and SDKs report no event before it. */
  def initialResponse(format: WireFormat): ByteBuffer =
    frame(format, Reply.Members(_ => ()), ":message-type" -> "event", ":event-type" -> "initial-response")

  def event(format: WireFormat, members: Reply.Whole): ByteBuffer =
    frame(format, members, ":message-type" -> "event", ":event-type" -> "SubscribeToShardEvent")

  /** An error that ends the stream. */
  def exception(format: WireFormat, error: ServiceError): ByteBuffer =
    frame(
      format,
      Reply.Members(_.text("message", error.message)),
      ":message-type"   -> "exception",
      ":exception-type" -> error.code
    )

  /** The frame with a wrong checksum. */
  def garbled(frame: ByteBuffer): ByteBuffer = {
    val bytes = ByteBuffer.allocate(frame.remaining).put(frame.duplicate).flip()
    val last  = bytes.limit() - 1
    bytes.put(last, (bytes.get(last) ^ 1).toByte)
  }

  private def frame(format: WireFormat, members: Reply.Whole, kind: (String, String)*): ByteBuffer = {
    val headers =
      (kind :+ (":content-type" -> format.contentType)).toMap.view.mapValues(HeaderValue.fromString(_)).toMap
    new Message(headers.asJava, bytesOf(Reply.encode(members, format))).toByteBuffer
  }

  private def bytesOf(parts: Vector[ByteBuffer]): Array[Byte] = {
    val all = ByteBuffer.allocate(parts.iterator.map(_.remaining).sum)
    parts.foreach(part => all.put(part.duplicate))
    all.array
  }
}
