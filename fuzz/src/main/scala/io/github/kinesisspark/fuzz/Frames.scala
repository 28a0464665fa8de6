package io.github.kinesisspark.fuzz

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.util

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.reactivestreams.{Publisher, Subscriber, Subscription}
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.eventstream.{HeaderValue, Message, MessageDecoder}

import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.read.reader.EventRecordExtractor

/** The bytes of an event stream: however they are cut, the SDK gets the same messages with the connector between the network and it, up to the
  * same damage, and the connector has the records that the SDK's events lack. The first byte of the input says where to cut.
  */
object Frames extends Target {
  override val name = "frames"

  override def check(input: Array[Byte]): Unit = if (input.nonEmpty) {
    val bytes             = Frames.sealing(input.drop(1))
    val bodies            = new EventRecordExtractor((_, all) => all)
    val (sent, isWhole)   = decoded(bytes)
    val (passed, isSound) = decoded(through(bodies, bytes.grouped(1 + (input(0) & 0xff))))
    Broken.unless(isSound == isWhole && passed.size == sent.size)(s"${passed.size} messages of ${sent.size} pass")
    for ((before, after) <- sent.zip(passed)) {
      Broken.unless(after.getHeaders == before.getHeaders)(s"${before.getHeaders} become ${after.getHeaders}")
      if (isEvent(before)) checkEvent(before.getPayload, after.getPayload, bodies.next())
      else Broken.unless(util.Arrays.equals(after.getPayload, before.getPayload))(s"$before becomes $after")
    }
  }

  private def checkEvent(sent: Array[Byte], passed: Array[Byte], records: EventRecordExtractor.Records): Unit =
    if (records.leftToSdk.isDefined) Broken.unless(util.Arrays.equals(sent, passed))("an event of the SDK's is changed")
    else {
      val left = SdkDecoder.events.read(passed)
      SdkDecoder.events.read(sent) match {
        case Failure(refused) => Broken.unless(left.isFailure)(s"the SDK refuses it: $refused")
        case Success(whole)   => SameAsSdk.compare(records.of(left.get, ShardPosition.TrimHorizon), whole.records)
      }
    }

  private def isEvent(message: Message) = {
    def says(name: String, text: String) =
      Option(message.getHeaders.get(name)).exists(value => Try(value.getString).toOption.contains(text))
    says(":message-type", "event") && says(":event-type", "SubscribeToShardEvent")
  }

  /** What the SDK gets of bytes that come in parts. */
  private def through(bodies: EventRecordExtractor, parts: Iterator[Array[Byte]]): Array[Byte] = {
    val out                            = new ByteArrayOutputStream
    var wanted                         = 0L
    var feed                           = (_: ByteBuffer) => ()
    val network: Publisher[ByteBuffer] = { to =>
      feed = to.onNext(_)
      to.onSubscribe(new Subscription {
        override def request(n: Long): Unit = wanted += n
        override def cancel(): Unit         = ()
      })
    }
    bodies
      .through(SdkHttpResponse.builder.statusCode(200).build, network)
      .subscribe(new Subscriber[ByteBuffer] {
        private var more                                   = () => ()
        override def onSubscribe(flow: Subscription): Unit = {
          more = () => flow.request(1)
          more()
        }
        override def onNext(bytes: ByteBuffer): Unit = {
          out.write(bytes.array, bytes.arrayOffset + bytes.position(), bytes.remaining)
          more()
        }
        override def onError(cause: Throwable): Unit = throw cause
        override def onComplete(): Unit              = ()
      })
    while (wanted > 0 && parts.hasNext) {
      wanted -= 1
      feed(ByteBuffer.wrap(parts.next()))
    }
    Broken.unless(!parts.hasNext)("nobody asks for what is left")
    out.toByteArray
  }

  /** The messages before the damage, and whether there was none. */
  private def decoded(bytes: Array[Byte]): (Vector[Message], Boolean) = {
    val decoder = new MessageDecoder
    val isWhole = Try(decoder.feed(ByteBuffer.wrap(bytes))).isSuccess
    (decoder.getDecodedMessages().asScala.toVector, isWhole)
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
    val values = headers.toMap.view.mapValues(HeaderValue.fromString(_)).toMap.asJava
    val all    = new Message(values, payload).toByteBuffer
    val out    = new Array[Byte](all.remaining)
    all.get(out)
    out
  }

  override def seeds: Seq[Array[Byte]] = {
    def event(payload: String) =
      frame(payload.getBytes, ":message-type" -> "event", ":event-type" -> "SubscribeToShardEvent")
    val records =
      """{"Records":[{"SequenceNumber":"12","Data":"aGk=","PartitionKey":"k","ApproximateArrivalTimestamp":1.5}],"""
    val known   = event(s"""$records"ContinuationSequenceNumber":"12","MillisBehindLatest":0}""")
    val escaped = event(s"""$records"ContinuationSequenceNumber":"12"}""".replace("PartitionKey", "\\u0050artitionKey"))
    Seq(
      7.toByte +: (event("hello") ++ event("hello")),
      0.toByte +: frame(Array.emptyByteArray),
      99.toByte +: (known ++ escaped ++ known)
    )
  }
}
