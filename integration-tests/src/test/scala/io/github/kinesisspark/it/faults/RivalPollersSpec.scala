package io.github.kinesisspark.it.faults

import java.util.concurrent.atomic.AtomicLong

import scala.concurrent.duration._

import org.scalatest.Suites
import org.scalatest.tags.Slow
import org.scalatest.time.{Millis, Span}
import software.amazon.awssdk.services.kinesis.model.{
  ExpiredIteratorException,
  ProvisionedThroughputExceededException,
  ShardIteratorType
}

import io.github.kinesisspark.it.KinesisService
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit.KinesisServerConfig

/** Another application polls the query's only shard twice as often as the service allows everybody together. The server
  * enforces its quotas. The other application polls for 20 s in one test, and for three minutes in the next.
  */
@Slow
final class RivalPollers(override protected val mode: Mode)
    extends TestkitSuite(KinesisServerConfig(enforceLimits = true, recentCalls = 100000)) {
  import RivalPollers._

  override def suiteName: String = s"Rival pollers by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  private def besideARival(time: FiniteDuration): Unit = {
    val stream   = newStream(shards = 1)
    val shard    = stream.onlyShard().shardId
    val log      = new BatchLog
    val expected = Seq.newBuilder[String]
    running(load(stream), checkpoint())(log.add) { query =>
      expected ++= put(stream, "before", 10)
      eventually(log.rows.size shouldBe 10)
      val began = System.nanoTime()
      val asked = kinesis.calls.count("GetRecords", stream.name)
      val rival = new RivalPoller(service, stream.name, shard)
      var waits = Vector.empty[FiniteDuration]
      try {
        var round = 0
        while ((System.nanoTime() - began).nanos < time) {
          round += 1
          expected ++= put(stream, s"round-$round", 5)
          val wanted = expected.result().size
          val put1   = System.nanoTime()
          eventually(interval(Span(100, Millis)))(log.rows.size shouldBe wanted)
          waits :+= (System.nanoTime() - put1).nanos
          query.isActive shouldBe true
        }
      } finally rival.close()
      val seconds = (System.nanoTime() - began) / 1e9
      val own     = kinesis.calls.count("GetRecords", stream.name) - asked - rival.calls
      withClue(
        f"$own calls and ${rival.calls} of the rival in $seconds%.0f s, the longest wait ${waits.max.toMillis} ms: "
      ) {
        rival.refused should be > 0L
        mode match {
          case Mode.Polling =>
            // 5 a second is what a reader may ask of a shard of its own; refused ones pause for longer.
            own.toDouble should be <= 5.0 * seconds
            own.toDouble should be >= 0.1 * seconds
            metric(query, "callsThrottled") should be > 0L
            metric(query, "callsFailed") shouldBe 0L
            waits.max should be <= LongestWait
          case Mode.FanOut =>
            own shouldBe 0L
            metric(query, "subscriptionsFailed") shouldBe 0L
            metric(query, "subscriptionsRefused") shouldBe 0L
            waits.max should be <= LongestWaitOfSubscriptions
        }
      }
      // With the rival gone, it reads as fast as before.
      val last = put(stream, "after", 5)
      val put1 = System.nanoTime()
      eventually(log.texts.takeRight(5) shouldBe last)
      (System.nanoTime() - put1).nanos should be <= LongestPause + 3.seconds
      log.texts shouldBe expected.result() ++ last
      query.exception shouldBe empty
    }
    inOrder(log)
  }

  describe("a shard that another application polls above the service's limit") {
    it("for 20 s is read on, by few calls and without a failure")(besideARival(20.seconds))

    it("for 3 minutes is read on, by few calls and without a failure")(besideARival(3.minutes))
  }
}

object RivalPollers {

  /** The reader's longest pause after a refusal. */
  private val LongestPause = 5.seconds

  /** Some refusals in a row; each call has a fair chance. */
  private val LongestWait = 60.seconds

  private val LongestWaitOfSubscriptions = 5.seconds
}

class RivalPollersSpec extends Suites(Mode.both.map(new RivalPollers(_)): _*)

/** Polls a shard ten times a second, without a pause after refusals, until it is closed. */
final class RivalPoller(service: KinesisService, stream: String, shard: String) extends AutoCloseable {
  private val asked            = new AtomicLong
  private val throttled        = new AtomicLong
  @volatile private var closed = false
  private val thread           = new Thread(() => poll(), "rival-poller")
  thread.setDaemon(true)
  thread.start()

  /** Its calls of GetRecords, and how many of them were refused. */
  def calls: Long   = asked.get
  def refused: Long = throttled.get

  override def close(): Unit = {
    closed = true
    thread.join()
  }

  private def poll(): Unit = {
    var iterator = Option.empty[String]
    while (!closed) {
      try {
        val at = iterator.getOrElse(
          service
            .callOnce(
              _.getShardIterator(r => r.streamName(stream).shardId(shard).shardIteratorType(ShardIteratorType.LATEST))
            )
            .shardIterator
        )
        iterator = Some(at)
        asked.incrementAndGet()
        iterator = Some(service.callOnce(_.getRecords(r => r.shardIterator(at))).nextShardIterator)
      } catch {
        case _: ProvisionedThroughputExceededException => throttled.incrementAndGet()
        case _: ExpiredIteratorException               => iterator = None
      }
      Thread.sleep(100) // Its rate is what it is for.
    }
  }
}
