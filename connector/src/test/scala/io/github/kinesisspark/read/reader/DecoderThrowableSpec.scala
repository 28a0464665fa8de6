package io.github.kinesisspark.read.reader

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.reactivestreams.{Publisher, Subscriber, Subscription => Flow}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.core.async.SdkPublisher
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.model._
import software.amazon.eventstream.{HeaderValue, Message, MessageDecoder}

import io.github.kinesisspark.EventuallyInAMinute
import io.github.kinesisspark.Generators.number
import io.github.kinesisspark.aws.ResponseFilter

/** A decoder throws in the thread that brings the bytes of an answer or of an event, in which an Error would be lost. */
class DecoderThrowableSpec extends AnyFunSpec with Matchers with EventuallyInAMinute {
  import DecoderThrowableSpec._

  private val errors: Seq[() => Throwable] = Seq(
    () => new OutOfMemoryError("as planned"),
    () => new StackOverflowError("as planned"),
    () => new NoClassDefFoundError("as planned")
  )

  private def failsOnce(open: PublisherScene => RecordPublisher): Unit = errors.foreach { error =>
    withClue(s"${error()}: ")(Using.resource(new PublisherScene(new Decoding(error))) { scene =>
      open(scene).request()
      eventually {
        scene.failures.map(_.errorClass) shouldBe Seq("KINESIS_CALL_FAILED")
        withClue("memory that nobody gives back: ")(scene.memory.used shouldBe 0)
      }
      scene.failures.head.getMessage should include("as planned")
      scene.deliveries shouldBe empty
    })
  }

  private def reportsOrReadsOn(open: PublisherScene => RecordPublisher): Unit = {
    val client = new Decoding(() => new IllegalStateException("as planned"))
    Using.resource(new PublisherScene(client)) { scene =>
      open(scene).request()
      eventually {
        scene.failures.size + scene.deliveries.size should be > 0
        scene.memory.used shouldBe 0
      }
      scene.failures.foreach(_.errorClass shouldBe "KINESIS_CALL_FAILED")
    }
  }

  describe("a polling reader") {
    it("fails with KINESIS_CALL_FAILED and frees its memory when decoding an answer throws an Error")(
      failsOnce(_.polling())
    )
    it("fails or reads on, and frees its memory, when decoding an answer throws an exception")(
      reportsOrReadsOn(_.polling())
    )
  }

  describe("a fan-out reader") {
    it("fails with KINESIS_CALL_FAILED and frees its memory when decoding an event throws an Error")(
      failsOnce(_.fanOut())
    )
    it("fails or reads on, and frees its memory, when decoding an event throws an exception")(
      reportsOrReadsOn(_.fanOut())
    )
  }
}

private object DecoderThrowableSpec {
  private val RecordJson =
    s"""{"SequenceNumber":"${number(1).text}","Data":"aGVsbG8=","PartitionKey":"k","ApproximateArrivalTimestamp":1.5}"""

  private val Answer = s"""{"Records":[$RecordJson],"NextShardIterator":"next","MillisBehindLatest":0}"""

  private val Event = {
    val headers = Map(":message-type" -> "event", ":event-type" -> "SubscribeToShardEvent")
    val out     = new ByteArrayOutputStream
    new Message(
      headers.map { case (k, v) => k -> HeaderValue.fromString(v) }.asJava,
      s"""{"Records":[$RecordJson]}""".getBytes
    )
      .encode(out)
    out.toByteArray
  }

  private def accepted(contentType: String, length: Option[Int]) = {
    val answer = SdkHttpResponse.builder.statusCode(200).putHeader("Content-Type", contentType)
    length.foreach(bytes => answer.putHeader("Content-Length", bytes.toString))
    answer.build
  }

  /** Stands in for the SDK: the first time that it gets bytes of an answer, its decoder throws. */
  private final class Decoding(planned: () => Throwable) extends StubKinesis {
    private val left = new AtomicBoolean(true)

    private def decode(): Unit = if (left.getAndSet(false)) throw planned()

    override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
      val answer  = new CompletableFuture[GetRecordsResponse]
      val network = (to: Subscriber[_ >: ByteBuffer]) =>
        to.onSubscribe(new Flow {
          override def request(n: Long): Unit = {
            to.onNext(ByteBuffer.wrap(Answer.getBytes))
            to.onComplete()
          }
          override def cancel(): Unit = ()
        })
      filtered(ResponseFilter.of(request).get, accepted("application/x-amz-json-1.1", Some(Answer.length)), network)
        .subscribe(new Subscriber[ByteBuffer] {
          override def onSubscribe(flow: Flow): Unit   = flow.request(Long.MaxValue)
          override def onNext(bytes: ByteBuffer): Unit = decode()
          override def onError(cause: Throwable): Unit = answer.completeExceptionally(cause): Unit
          override def onComplete(): Unit              = {
            val decoded = GetRecordsResponse.builder.nextShardIterator("next").millisBehindLatest(0L)
            answer.complete(decoded.records(java.util.Collections.emptyList[Record]).build): Unit
          }
        })
      answer
    }

    override def subscribeToShard(
        request: SubscribeToShardRequest,
        handler: SubscribeToShardResponseHandler
    ): CompletableFuture[Void] = {
      val network = (to: Subscriber[_ >: ByteBuffer]) =>
        to.onSubscribe(new Flow {
          override def request(n: Long): Unit = to.onNext(ByteBuffer.wrap(Event))
          override def cancel(): Unit         = ()
        })
      val bytes = filtered(
        ResponseFilter.of(request).get,
        accepted("application/vnd.amazon.eventstream", None),
        network
      )
      val events: SdkPublisher[SubscribeToShardEventStream] = (to: Subscriber[? >: SubscribeToShardEventStream]) =>
        bytes.subscribe(new Subscriber[ByteBuffer] {
          override def onSubscribe(flow: Flow): Unit  = to.onSubscribe(flow)
          override def onNext(some: ByteBuffer): Unit = {
            decode()
            new MessageDecoder().feed(some).getDecodedMessages().asScala.foreach(message => to.onNext(eventOf(message)))
          }
          override def onError(cause: Throwable): Unit = to.onError(cause)
          override def onComplete(): Unit              = to.onComplete()
        })
      handler.onEventStream(events)
      new CompletableFuture[Void]
    }
  }

  private def filtered(
      filter: ResponseFilter,
      answer: SdkHttpResponse,
      network: Subscriber[_ >: ByteBuffer] => Unit
  ): Publisher[ByteBuffer] = filter.through(answer, to => network(to))

  private def eventOf(message: Message): SubscribeToShardEventStream = {
    val mark = ujson.read(message.getPayload)("Records")(0)("SequenceNumber").str
    SubscribeToShardEventStream
      .subscribeToShardEventBuilder()
      .records(Record.builder.sequenceNumber(mark).build)
      .continuationSequenceNumber(number(1).text)
      .millisBehindLatest(0L)
      .build()
  }
}
