package io.github.kinesisspark.fuzz

import java.nio.ByteBuffer

import scala.jdk.CollectionConverters._

import software.amazon.eventstream.{HeaderValue, Message, MessageDecoder}

/** The bytes of an event stream: however they are cut, the same messages come out, up to the same damage. The first byte of the
  * input says where to cut.
  */
object Frames extends Target {
  override val name = "frames"

  override def check(input: Array[Byte]): Unit = if (input.nonEmpty) {
    val bytes = Frames.sealing(input.drop(1))
    val whole = decoded(Iterator(bytes))
    val parts = decoded(bytes.grouped(1 + (input(0) & 0xff)))
    Broken.unless(whole == parts)(s"cut into parts it is $parts, and as a whole $whole")
  }

  /** The messages before the damage, and whether there was any. */
  private def decoded(parts: Iterator[Array[Byte]]): (Vector[(Any, Any)], Boolean) = {
    var all     = Vector.empty[(Any, Any)]
    val decoder =
      new MessageDecoder((m: Message) => all :+= (m.getHeaders.asScala.toMap.toString -> m.getPayload.toVector))
    val isWhole =
      try {
        parts.foreach(part => decoder.feed(ByteBuffer.wrap(part)))
        true
      } catch { case _: IllegalArgumentException => false }
    (all, isWhole)
  }

  /** The checksums of what may be frames made right, so that damage of other kinds is met. */
  private[fuzz] def sealing(bytes: Array[Byte]): Array[Byte] = {
    val out  = bytes.clone()
    val at   = ByteBuffer.wrap(out)
    var from = 0
    while (from + 16 <= out.length) {
      val length = at.getInt(from)
      at.putInt(from + 8, crc(out, from, 8))
      if (length >= 16 && length <= out.length - from) {
        at.putInt(from + length - 4, crc(out, from, length - 4))
        from += length
      } else from = out.length
    }
    out
  }

  private def crc(bytes: Array[Byte], from: Int, length: Int) = {
    val sum = new java.util.zip.CRC32
    sum.update(bytes, from, length)
    sum.getValue.toInt
  }

  private[fuzz] def frame(payload: Array[Byte], headers: (String, String)*): Array[Byte] = {
    val told = headers.toMap.view.mapValues(HeaderValue.fromString(_)).toMap.asJava
    val all  = new Message(told, payload).toByteBuffer
    val out  = new Array[Byte](all.remaining)
    all.get(out)
    out
  }

  override def seeds: Seq[Array[Byte]] = {
    val one = frame("hello".getBytes, ":message-type" -> "event", ":event-type" -> "SubscribeToShardEvent")
    Seq(7.toByte +: (one ++ one), 0.toByte +: frame(Array.emptyByteArray))
  }
}
