package io.github.kinesisspark.read.reader

import java.net.{ConnectException, UnknownHostException}
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.core.exception.SdkClientException
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.Generators.number
import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.runtime.VirtualTime

/** A polling reader whose endpoint has worked and is gone for a while. */
class PollingOutageSpec extends AnyFunSpec with Matchers {
  private val Failures = 10

  /** Works once, fails, and works again. */
  private final class Returning(failure: Throwable) extends StubKinesis {
    private val calls = new AtomicInteger

    override def getRecords(r: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
      if ((1 to Failures).contains(calls.getAndIncrement()))
        CompletableFuture.failedFuture(
          SdkClientException.create("Unable to execute HTTP request: as planned", failure)
        )
      else super.getRecords(r)
  }

  private val kinds = Map(
    "failures to find the host" -> new UnknownHostException("kinesis.test"),
    "refused connections"       -> new ConnectException("Connection refused")
  )

  describe("a polling reader whose endpoint has worked before") {
    for ((failures, failure) <- kinds)
      it(s"reads on after ten $failures in a row") {
        val time      = new VirtualTime
        val scene     = new PublisherScene(new Returning(failure))(time.runtime)
        val publisher = scene.polling()
        publisher.request()
        time.pass(1.second)
        scene.deliveries should have size 1
        publisher.request()
        // Ten pauses with jitter, of at most 5 s each.
        time.pass(1.minute)
        scene.failures.map(_.getMessage) shouldBe empty
        scene.deliveries should have size 2
      }
  }

  describe("a polling reader that catches up") {
    it("pauses before each call at a server that calls every iterator expired") {
      val time      = new VirtualTime
      val client    = new Expiring
      val scene     = new PublisherScene(client)(time.runtime)
      val publisher = scene.polling()
      publisher.request()
      time.pass(1.nano)
      scene.deliveries should have size 1
      publisher.request()
      time.pass(2.seconds)
      client.calls - 1 should (be > 5 and be <= 10)
    }
  }

  /** Answers once, with a record of 1 MiB and more to come. Then all iterators have expired, until it answers no more. */
  private final class Expiring extends StubKinesis {
    var calls = 0

    private val large = Record.builder
      .sequenceNumber(number(1).toString)
      .partitionKey("key")
      .data(SdkBytes.fromByteArray(new Array[Byte](1 << 20)))
      .approximateArrivalTimestamp(java.time.Instant.ofEpochMilli(1))
      .build

    override def getRecords(r: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
      calls += 1
      if (calls == 1)
        CompletableFuture.completedFuture(
          GetRecordsResponse.builder.records(large).nextShardIterator("iterator").millisBehindLatest(1000L).build
        )
      else if (calls < 100) CompletableFuture.failedFuture(ExpiredIteratorException.builder.statusCode(400).build)
      else new CompletableFuture
    }
  }

  /** Calls of GetRecords fail by their number, and each answer brings another iterator. */
  private final class Failing(
      failing: Set[Int],
      refused: Set[Int] = Set.empty,
      onFirst: PublisherScene => Unit = _ => ()
  ) extends StubKinesis {
    val time      = new VirtualTime
    var waits     = 0
    var made      = 0
    var iterators = Vector.empty[String]

    // A second for the failures alone, instead of 15 minutes, and waits of a millisecond.
    private val retries = CallRetries(
      CallRetries.default.byCall.view.mapValues(_.copy(base = 1.milli, max = 1.milli)).toMap,
      maxDuration = 1.second
    )
    val scene = new PublisherScene(this, retries = retries, onWaiting = () => waits += 1)(time.runtime)

    override def getShardIterator(r: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] = {
      made += 1
      CompletableFuture.completedFuture(GetShardIteratorResponse.builder.shardIterator(s"made $made").build)
    }

    override def getRecords(r: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
      iterators :+= r.shardIterator
      val number = iterators.size
      if (number == 1) onFirst(scene)
      if (failing(number)) CompletableFuture.failedFuture(InternalFailureException.builder.statusCode(500).build)
      else if (refused(number)) CompletableFuture.failedFuture(InvalidArgumentException.builder.statusCode(400).build)
      else super.getRecords(r).thenApply(_.toBuilder.nextShardIterator(s"after $number").build)
    }
  }

  describe("a polling reader of which a call fails") {
    it("keeps its iterator, which may be far beyond the last record, until the next one fails too") {
      val client    = new Failing(Set(2, 4, 5))
      val publisher = client.scene.polling()
      for (answers <- 1 to 3) {
        publisher.request()
        client.time.pass(1.second)
        client.scene.deliveries should have size answers.toLong
      }
      client.iterators shouldBe Vector("made 1", "after 1", "after 1", "after 3", "after 3", "made 2")
    }

    it("makes another iterator for one that is refused, also right after a failure, and ends if that is refused too") {
      for (refused <- Seq(Set(3), Set(3, 4))) {
        val client    = new Failing(Set(2), refused)
        val publisher = client.scene.polling()
        publisher.request()
        client.time.pass(1.second)
        client.scene.deliveries should have size 1
        publisher.request()
        client.time.pass(1.second)
        client.scene.deliveries.size + client.scene.failures.size shouldBe 2
        client.scene.failures should have size (refused.size - 1L)
        client.iterators shouldBe Vector("made 1", "after 1", "after 1", "made 2")
      }
    }

    it("does not count the time in which it waits for memory as one of failures") {
      val other  = new AtomicReference[MemoryBudget.Account]
      val client = new Failing(
        Set(1, 2),
        onFirst = { scene =>
          other.set(scene.memory.join(64L << 20).account())
          // It comes once the failed call has given its memory back.
          other.get.take(_ => scene.memory.capacity)(_ => ()): Unit
        }
      )
      val scene = client.scene
      scene.polling().request()
      client.time.pass(1.minute)
      client.waits shouldBe 1
      client.iterators should have size 1
      other.get.giveBack(scene.memory.capacity)
      client.time.pass(1.second)
      scene.failures shouldBe empty
      scene.deliveries should have size 1
      client.iterators should have size 3
    }
  }
}
