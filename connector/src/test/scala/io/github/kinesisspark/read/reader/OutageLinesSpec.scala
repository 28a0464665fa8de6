package io.github.kinesisspark.read.reader

import java.net.ConnectException
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._
import scala.util.Try

import org.apache.logging.log4j.Level
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.tagobjects.Slow
import software.amazon.awssdk.core.exception.SdkClientException
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.{BlockingCalls, CallObserver, KinesisException, OfflineClient}
import io.github.kinesisspark.config.{CallRetries, PollingOptions}
import io.github.kinesisspark.position.{ConsumerArn, ShardPosition}
import io.github.kinesisspark.read.catalog.ShardProbes
import io.github.kinesisspark.runtime.VirtualTime

/** What shards log in an outage of ten minutes, on a clock that the test moves. */
class OutageLinesSpec extends AnyFunSpec with Matchers with CapturedLogs {
  import OutageLinesSpec._

  /** Each line of the connector at INFO and above that this thread writes: virtual time has no other, and those of suites that ran before may log too. */
  private def linesOf(body: => Unit): Vector[String] =
    withLogs(Map(Connector -> Level.INFO), Some(Thread.currentThread))(body)._2.linesIterator.toVector

  /** Readers of shards, whose calls all fail from the beginning. */
  private final class Scene(shards: Int, failure: Throwable, outage: FiniteDuration = Outage) {
    val time = new VirtualTime
    import time.runtime
    val client = new Failing(failure)
    val worker = runtime.workers.fixed("outage", 1)

    private val memory  = new MemoryBudget(_.run()).join(100L << 30)
    private val access  = ReadingClient(client, CallRetries.default, isAws = false, () => true, () => ())
    private val pollers = new PollingPublisherFactory(
      _ => access,
      worker,
      new ReaderTelemetry,
      Some(new StartSchedule(5.millis)),
      PollingOptions.Default
    )
    private val subscribers = FanOutRecordPublisher.factory(
      ResolvedPublisher.FanOut(Map(stream -> ConsumerArn(s"${stream.text}/consumer/it:1600000000"))),
      _ => access,
      worker,
      new ReaderTelemetry,
      new StartSchedule(5.millis),
      pollers,
      isNamedSince = (_, _) => true
    )

    private final class Sink extends RecordPublisher.Sink {
      override val memory: MemoryBudget.Account                      = Scene.this.memory.account()
      override def deliver(delivery: RecordPublisher.Delivery): Unit = ()
      override def fail(cause: KinesisException): Unit               = ()
    }

    private def read(by: RecordPublisher.Factory): Unit = {
      (0 until shards).foreach(i => by.open(shard(i), ShardPosition.TrimHorizon, new Sink).request())
      time.pass(outage)
    }

    def poll(): Unit      = read(pollers)
    def subscribe(): Unit = read(subscribers)

    /** As a planning does: shard by shard, with 10 s for each. */
    def look(): Unit = {
      val probes = new ShardProbes(
        client,
        BlockingCalls(CallRetries.default.within(10.seconds), () => true, CallObserver.warning)
      )
      Iterator.from(0).map(i => shard(i % shards)).takeWhile(_ => time.elapsed < outage).foreach { shard =>
        Try(probes.at(shard, ShardPosition.TrimHorizon, 1))
      }
    }
  }

  private val refused =
    SdkClientException.create("Unable to execute HTTP request", new ConnectException("Connection refused"))
  private val throttled = LimitExceededException.builder.message("Rate exceeded").statusCode(400).build

  for {
    (what, failure, run) <- Seq[(String, Throwable, Scene => Unit)](
      ("polled while connections are refused", refused, _.poll()),
      ("subscribed to while connections are refused", refused, _.subscribe()),
      ("subscribed to while calls are throttled", throttled, _.subscribe()),
      ("looked into to plan while connections are refused", refused, _.look())
    )
    (shards, tags) <- Seq(20 -> Nil, 1000 -> Seq(Slow))
  } describe(s"$shards shards that are $what for ten minutes") {
    it("log the first failure at once, then at most a line a minute, and count all failures", tags: _*) {
      val scene = new Scene(shards, failure)
      val lines = linesOf(run(scene))
      info(s"${scene.client.calls} calls, ${lines.size} lines")
      lines.head should not include "repeated="
      linesOf(run(new Scene(shards, failure, outage = AtOnce))) should not be empty
      lines.size should be <= MostLines
      // Those since the last full minute are in the next line's count.
      val counted = lines.map(Repeated.findFirstMatchIn(_).fold(1L)(_.group(1).toLong)).sum
      counted should be >= scene.client.calls * 8 / 10
      counted should be <= scene.client.calls
    }
  }
}

object OutageLinesSpec {
  private val Connector = "io.github.kinesisspark"
  private val Outage    = 10.minutes
  private val AtOnce    = 1.second

  /** A first line and one a minute, of each kind of failure and call. */
  private val MostLines = 25
  private val Repeated  = "repeated=(\\d+)".r

  /** A service that fails each call. */
  private final class Failing(failure: Throwable) extends OfflineClient {
    var calls = 0L

    private def fail[A](): CompletableFuture[A] = {
      calls += 1
      CompletableFuture.failedFuture(failure)
    }

    override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
      fail()
    override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = fail()
    override def subscribeToShard(
        request: SubscribeToShardRequest,
        handler: SubscribeToShardResponseHandler
    ): CompletableFuture[Void] = {
      val failed = fail[Void]()
      failed.whenComplete((_, e) => handler.exceptionOccurred(e))
      failed
    }
  }
}
