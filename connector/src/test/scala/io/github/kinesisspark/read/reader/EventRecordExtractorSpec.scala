package io.github.kinesisspark.read.reader

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer

import scala.jdk.CollectionConverters._

import org.reactivestreams.{Publisher, Subscriber, Subscription => Flow}
import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.model.{Record, SubscribeToShardEvent}
import software.amazon.eventstream.{HeaderValue, Message, MessageDecoder}

import io.github.kinesisspark.aws.{DamagedAnswer, ResponseFilter}
import io.github.kinesisspark.position.ShardPosition.TrimHorizon

class EventRecordExtractorSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private val open: ResponseFilter = (_, bytes) => bytes

  /** A stream whose bytes come in pieces as they are asked for, by whoever asks for one more each time. */
  private final class Scene(bytes: Array[Byte], piece: Int, status: Int = 200) {
    val bodies = new EventRecordExtractor(open)
    val passed = new ByteArrayOutputStream
    var wanted = 0

    private val pieces                               = bytes.grouped(piece)
    private var demand                               = Option.empty[Flow]
    private var through: Subscriber[_ >: ByteBuffer] = _
    private val network: Publisher[ByteBuffer]       = { to =>
      through = to
      to.onSubscribe(new Flow {
        override def request(n: Long): Unit = wanted += n.toInt
        override def cancel(): Unit         = ()
      })
    }
    bodies
      .through(SdkHttpResponse.builder.statusCode(status).build, network)
      .subscribe(new Subscriber[ByteBuffer] {
        override def onSubscribe(flow: Flow): Unit  = demand = Some(flow)
        override def onNext(some: ByteBuffer): Unit = {
          val all = new Array[Byte](some.remaining)
          some.get(all)
          passed.write(all)
          demand.foreach(_.request(1))
        }
        override def onError(cause: Throwable): Unit = throw cause
        override def onComplete(): Unit              = ()
      })
    demand.foreach(_.request(1))
    while (wanted > 0 && pieces.hasNext) {
      wanted -= 1
      through.onNext(ByteBuffer.wrap(pieces.next()))
    }

    def messages: Vector[Message] =
      new MessageDecoder().feed(ByteBuffer.wrap(passed.toByteArray)).getDecodedMessages().asScala.toVector
  }

  private def message(payload: String, headers: (String, String)*) =
    new Message(headers.toMap.map { case (k, v) => k -> HeaderValue.fromString(v) }.asJava, payload.getBytes)

  private def event(payload: String) =
    message(payload, ":message-type" -> "event", ":event-type" -> "SubscribeToShardEvent")

  private def bytesOf(messages: Message*) = {
    val out = new ByteArrayOutputStream
    messages.foreach(_.encode(out))
    out.toByteArray
  }

  private def records(numbers: Int*) = numbers
    .map(n => s"""{"SequenceNumber":"$n","Data":"aGVsbG8=","PartitionKey":"k","ApproximateArrivalTimestamp":1.5}""")
    .mkString("[", ",", "]")

  /** What the SDK makes of messages, of which it should make one event each. */
  private def made(messages: Message*) = {
    val records = messages.flatMap(m => ujson.read(m.getPayload)("Records").arr)
    SubscribeToShardEvent.builder
      .records(records.map(r => Record.builder.sequenceNumber(r("SequenceNumber").str).build).asJava)
      .build
  }

  private val theSdks = SubscribeToShardEvent.builder.records(java.util.Collections.emptyList[Record]).build

  describe("the bytes of a subscription") {
    it("pass without the records of events, which are kept in the events' order, in whatever pieces they come") {
      val sent = bytesOf(
        message("{}", ":message-type" -> "event", ":event-type" -> "initial-response"),
        event(s"""{"Records":${records(1, 2)},"MillisBehindLatest":7}"""),
        event("""{"Records":7}"""),
        event(s"""{"MillisBehindLatest":8,"Records":${records(3)}}""")
      )
      forAll(Gen.choose(1, sent.length)) { piece =>
        val s = new Scene(sent, piece)
        s.messages.map(m => new String(m.getPayload)) shouldBe Vector(
          "{}",
          """{"Records":[{"SequenceNumber":"event-1"}],"MillisBehindLatest":7}""",
          """{"Records":7}""",
          """{"MillisBehindLatest":8,"Records":[{"SequenceNumber":"event-3"}]}"""
        )
        s.messages(1).getHeaders.asScala.keySet shouldBe Set(":message-type", ":event-type")
        def next(event: SubscribeToShardEvent) = {
          val records = s.bodies.next()
          (records.leftToSdk, records.of(event, TrimHorizon).toVector.map(_.sequenceNumber.text))
        }
        next(made(s.messages(1))) shouldBe ((None, Vector("1", "2")))
        next(theSdks) shouldBe ((Some("expected a list"), Vector()))
        next(made(s.messages(3))) shouldBe ((None, Vector("3")))
        s.bodies.next().leftToSdk should not be empty
      }
    }

    it("give no event the records of another one, where the SDK drops an event, repeats one or makes one of two") {
      val sent = bytesOf((1 to 3).map(n => event(s"""{"Records":${records(n)}}""")): _*)
      def madeOf(numbers: Int*)(all: Vector[Message])               = made(numbers.map(n => all(n - 1)): _*)
      def read(events: (Vector[Message] => SubscribeToShardEvent)*) = {
        val s = new Scene(sent, piece = 50)
        events.map(e => s.bodies.next().of(e(s.messages), TrimHorizon).map(_.sequenceNumber.text).toVector)
      }
      read(madeOf(1), madeOf(2), madeOf(3)) shouldBe Seq(Vector("1"), Vector("2"), Vector("3"))
      for (
        mistaken <- Seq(
          Seq(madeOf(2) _),
          Seq(madeOf(1) _, madeOf(1) _),
          Seq(madeOf(1, 2) _),
          Seq(madeOf(1) _, madeOf(3) _)
        )
      )
        a[DamagedAnswer] should be thrownBy read(mistaken: _*)
    }

    it("pass as they came where the lengths of a message are damaged, and from there on") {
      val sound   = bytesOf(event(s"""{"Records":${records(1)}}"""))
      val damaged = sound.updated(9, (sound(9) ^ 1).toByte)
      forAll(Gen.choose(1, sound.length)) { piece =>
        val rest = new Scene(sound ++ damaged ++ sound, piece).passed.toByteArray
        rest.takeRight(2 * sound.length) shouldBe damaged ++ sound
        rest.length should be < 3 * sound.length
      }
    }

    it("pass as they came where a message's own checksum is wrong") {
      val sound   = bytesOf(event(s"""{"Records":${records(1)}}"""))
      val damaged = sound.updated(sound.length - 9, (sound(sound.length - 9) ^ 1).toByte)
      new Scene(damaged, 50).passed.toByteArray shouldBe damaged
    }

    it("pass as they came if the answer is an error") {
      val sound = bytesOf(event(s"""{"Records":${records(1)}}"""))
      new Scene(sound, 50, status = 400).passed.toByteArray shouldBe sound
    }
  }
}
