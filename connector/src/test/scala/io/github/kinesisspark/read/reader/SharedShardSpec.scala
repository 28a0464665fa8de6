package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.Level
import org.reactivestreams.Publisher
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.{KinesisException, ResponseFilter}
import io.github.kinesisspark.config.{CallRetries, PollingOptions}
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.runtime.VirtualTime

/** A polling reader under the limits of a shard, on a clock that the test moves. */
class SharedShardSpec extends AnyFunSpec with Matchers with CapturedLogs {
  import SharedShardSpec._

  /** Lines about others of a poller with default options.
    *
    * @param span how long it polls
    */
  private def poll(isAws: Boolean, time: VirtualTime, client: KinesisAsyncClient, span: FiniteDuration) = {
    import time.runtime
    val access  = ReadingClient(client, CallRetries.default, isAws, () => true, () => ())
    val pollers = new PollingPublisherFactory(
      _ => access,
      runtime.workers.fixed("shared", 1),
      new ReaderTelemetry,
      Some(new StartSchedule(5.millis)),
      PollingOptions.Default
    )
    val budget                          = new MemoryBudget(_.run()).join(100L << 30)
    lazy val publisher: RecordPublisher = pollers.open(
      shard(0),
      ShardPosition.TrimHorizon,
      new RecordPublisher.Sink {
        override val memory: MemoryBudget.Account                      = budget.account()
        override def deliver(delivery: RecordPublisher.Delivery): Unit = {
          memory.giveBack(delivery.totals.heap)
          publisher.request()
        }
        override def fail(cause: KinesisException): Unit = throw cause
      }
    )
    val (_, log) = withLogs(Map("io.github.kinesisspark" -> Level.WARN), Some(Thread.currentThread)) {
      publisher.request()
      time.pass(span)
    }
    log.linesIterator.filter(_.contains("is polled by others too")).toVector
  }

  /** Lines of ten minutes in which a call is refused every so often. */
  private def lines(isAws: Boolean, every: FiniteDuration): Vector[String] = {
    val time   = new VirtualTime
    val client = new StubKinesis {
      private var lastRefused = time.runtime.clock.nanos()

      override def getRecords(r: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
        if (time.runtime.clock.nanos() - lastRefused < every.toNanos) super.getRecords(r)
        else {
          lastRefused = time.runtime.clock.nanos()
          CompletableFuture.failedFuture(refusal)
        }
    }
    poll(isAws, time, client, 10.minutes)
  }

  describe("a shard that refuses a call every ten seconds") {
    it("has a line a minute that says who may poll it too, at AWS and at a server that has refused a call before") {
      for (isAws <- Seq(true, false)) {
        val all = lines(isAws, every = 10.seconds)
        all.size should (be >= 9 and be <= 11)
        all.head should (include(shard(0).toString) and include("Lambda") and include("polling.callsPerSecond"))
      }
    }
  }

  describe("a shard that refuses a call every minute and a half") {
    it("has none") {
      lines(isAws = true, every = 90.seconds) shouldBe empty
    }
  }

  describe("a shard with a backlog and the service's limits") {
    it("refuses no call of its only reader, which reads nearly all it may, however long calls take") {
      for ((slowest, least) <- Seq(0.millis -> 0.99, 10.millis -> 0.98, 40.millis -> 0.93)) {
        val time  = new VirtualTime
        val shard = new Metered(time, slowest)
        poll(isAws = true, time, shard, 5.minutes) shouldBe empty
        shard.refused shouldBe 0
        shard.bytes.toDouble / (5.minutes.toSeconds * (2L << 20)) should (be >= least and be <= 1.01)
      }
    }

    it("is asked for no more than a second gives") {
      val time  = new VirtualTime
      val shard = new Metered(time, 10.millis)
      poll(isAws = true, time, shard, 1.minute)
      shard.largest should be <= (2L << 20) * 101 / 100
    }
  }
}

object SharedShardSpec {
  private def refusal = ProvisionedThroughputExceededException.builder.message("Rate exceeded").build

  /** A shard that is full of records of 4 KiB, and refuses calls until the bytes of the last answer have been paid for at 2 MiB/s. It counts them at any
    * moment before the answer begins.
    *
    * @param slowest a call takes up to three times as long: to be counted, to begin to be answered, to be answered
    */
  private final class Metered(time: VirtualTime, slowest: FiniteDuration) extends StubKinesis {
    private val runtime = time.runtime
    private val worker  = runtime.workers.fixed("service", 1)
    private val data    = SdkBytes.fromByteArrayUnsafe(new Array[Byte](4 << 10))
    private var made    = 0L
    private var free    = 0L
    var refused         = 0
    var bytes           = 0L
    var largest         = 0L

    private def later(step: => Unit): Unit =
      worker.schedule((runtime.ids.chance() * slowest.toNanos).toLong)(step): Unit

    override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
      val answer = new CompletableFuture[GetRecordsResponse]
      later {
        if (runtime.clock.nanos() < free) {
          refused += 1
          answer.completeExceptionally(refusal): Unit
        } else
          later {
            val records = count(request.limit)
            later {
              ResponseFilter.of(request).get.through(SdkHttpResponse.builder.statusCode(200).build, NoBytes): Unit
              later(answer.complete(answerOf(records)): Unit)
            }
          }
      }
      answer
    }

    private def count(limit: Int) = {
      val records = Vector.fill(limit)(next())
      val size    = records.map(r => r.data.asByteArrayUnsafe.length + r.partitionKey.length).sum.toLong
      free = runtime.clock.nanos() + size * 1000000000 / (2L << 20)
      bytes += size
      largest = largest.max(size)
      records
    }

    private def answerOf(records: Vector[Record]) =
      GetRecordsResponse.builder.records(records.asJava).nextShardIterator("iterator").millisBehindLatest(1000L).build

    private def next() = {
      made += 1
      Record.builder
        .sequenceNumber(number(made).toString)
        .partitionKey("key")
        .data(data)
        .approximateArrivalTimestamp(java.time.Instant.ofEpochMilli(1000))
        .build
    }
  }

  private val NoBytes: Publisher[ByteBuffer] = _ => ()
}
