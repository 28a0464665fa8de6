package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer
import java.util.concurrent.CompletableFuture

import org.reactivestreams.{Publisher, Subscriber, Subscription => Flow}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.core.exception.ApiCallTimeoutException
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.EventuallyInAMinute
import io.github.kinesisspark.aws.ResponseFilter

class PollingMemorySpec extends AnyFunSpec with Matchers with EventuallyInAMinute {
  private val Large = 10L << 20

  /** Its answers are as long as `length` says of each, and come once somebody asks for their bytes. */
  private final class Lengthy(length: Int => Long) extends StubKinesis {
    @volatile var calls        = 0
    @volatile var waits        = 0
    @volatile var giveUp       = () => ()
    @volatile var memoryBefore = Vector.empty[Long]
    @volatile var used         = () => 0L
    @volatile var isGone       = false

    override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
      if (isGone) CompletableFuture.failedFuture(ResourceNotFoundException.builder.statusCode(400).build)
      else super.getShardIterator(request)

    override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
      val number = calls
      val answer = new CompletableFuture[GetRecordsResponse]
      memoryBefore :+= used()
      giveUp = () => answer.completeExceptionally(ApiCallTimeoutException.create(60000)): Unit
      calls += 1
      val head = SdkHttpResponse.builder.statusCode(200).putHeader("Content-Length", length(number).toString).build
      val bytes: Publisher[ByteBuffer] = to =>
        to.onSubscribe(new Flow {
          override def request(n: Long): Unit = to.onComplete()
          override def cancel(): Unit         = ()
        })
      ResponseFilter
        .of(request)
        .get
        .through(head, bytes)
        .subscribe(new Subscriber[ByteBuffer] {
          override def onSubscribe(flow: Flow): Unit     = flow.request(Long.MaxValue)
          override def onNext(bytes: ByteBuffer): Unit   = ()
          override def onError(failure: Throwable): Unit = ()
          override def onComplete(): Unit                = oneRecord(request).thenAccept(answer.complete(_)): Unit
        })
      answer
    }

    private def oneRecord(request: GetRecordsRequest) = super.getRecords(request)
  }

  private def reading(length: Int => Long)(check: (PublisherScene, Lengthy, RecordPublisher) => Unit): Unit = {
    val client = new Lengthy(length)
    val scene  = new PublisherScene(client, onWaiting = () => client.waits += 1)
    client.used = () => scene.memory.used
    try check(scene, client, scene.polling())
    finally scene.close()
  }

  /** An answer waits for memory until its call is over; then there is memory for the next one. */
  private def waitInVain(scene: PublisherScene, client: Lengthy, publisher: RecordPublisher)(
      meanwhile: => Unit = ()
  ): Unit = {
    val other = scene.sink.memory
    val held  = scene.memory.capacity - (9L << 20)
    other.take(_ => held)(_ => ())
    publisher.request()
    eventually(client.waits shouldBe 1)
    client.calls shouldBe 1
    meanwhile
    client.giveUp()
    eventually(client.waits shouldBe 2)
    client.calls shouldBe 1
    other.giveBack(held)
  }

  describe("polling takes memory") {
    it("for what it expects before a call, and for a few records where all has been read") {
      reading(_ => 100) { (scene, client, publisher) =>
        publisher.request()
        eventually(scene.deliveries should have size 1)
        publisher.request()
        eventually(scene.deliveries should have size 2)
        client.memoryBefore shouldBe Vector(2 * (4L << 20), 2 * (64L << 10))
        eventually(scene.memory.used shouldBe 0)
      }
    }

    it("for records that are as long on the wire as those of the last answer") {
      val wire = 50L
      reading(_ => wire) { (scene, client, publisher) =>
        client.millisBehind = 5000
        publisher.request()
        eventually(scene.deliveries should have size 1)
        publisher.request()
        eventually(scene.deliveries should have size 2)
        client.memoryBefore.last shouldBe 2 * PollingRecordPublisher.MostRecords * wire
      }
    }

    it("before the next call where an answer waited for it until its call had ended, which is no failure") {
      reading(_ => Large) { (scene, client, publisher) =>
        waitInVain(scene, client, publisher)()
        eventually(scene.deliveries should have size 1)
        client.calls shouldBe 2
        client.memoryBefore.last shouldBe 2 * Large
        scene.failures shouldBe empty
        eventually(scene.memory.used shouldBe 0)
      }
    }

    it("of an answer that waited for it in vain, and fails if its shard is gone by then") {
      reading(_ => Large) { (scene, client, publisher) =>
        waitInVain(scene, client, publisher)(client.isGone = true)
        eventually(scene.failures should have size 1)
        client.calls shouldBe 1
      }
    }
  }
}
