package io.github.kinesisspark.it.faults

import java.time.Duration
import java.util.concurrent.ConcurrentSkipListMap

import scala.concurrent.duration.{Duration => _, _}
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.Suites
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{Mode, TestkitSuite}
import io.github.kinesisspark.testkit.KinesisServerConfig

/** Triggers that are longer than the buffer lasts, against a server that enforces the service's limits. */
@Slow
final class SlowTrigger(override protected val mode: Mode)
    extends TestkitSuite(KinesisServerConfig(enforceLimits = true)) {
  import SlowTrigger._

  override def suiteName: String = s"Slow triggers by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  /** Works off what 90% of the shards' read limit allow in `intervals`, which have arrived at the shards' write limit, in two batches more at most:
    * the first may begin before anything is read, and the last may end in the midst of the next.
    *
    * A query passes at 60% of the limit with two intervals, and at 45% with one: only its first batch is surely not a full one, and a closer bound
    * would fail by where in an interval the last batch begins. How much one batch takes is bounded by `LongTriggerSpec`, without a machine's load.
    */
  private def worksOff(trigger: FiniteDuration, shards: Int, intervals: Int): Unit = {
    val stream  = newStream(shards)
    val records = (trigger.toSeconds * intervals * shards * BytesPerSecond * 9 / 10 / Record.length).toInt
    put(stream, shards, records, AtWriteLimit)
    reading(stream, trigger) { (query, batches) =>
      eventually(timeout(Span((trigger * (intervals + 3)).toSeconds + 60, Seconds))) {
        query.exception shouldBe None
        assert(rows(batches) == records || batches.size >= intervals + 2)
      }
      withRows(batches)(rows(batches) shouldBe records)
    }
  }

  /** The batches with records that take what arrives while the query waits for its trigger. */
  private def batchesOf(records: Int, within: FiniteDuration, trigger: FiniteDuration, shards: Int): Vector[Long] = {
    val stream = newStream(shards)
    reading(stream, trigger) { (query, batches) =>
      eventually(timeout(Span(60, Seconds)))(batches.size shouldBe 1)
      put(stream, shards, records, Duration.ofMillis(within.toMillis * shards / records))
      eventually(timeout(Span(120, Seconds))) {
        query.exception shouldBe None
        withRows(batches)(rows(batches) shouldBe records)
      }
      batches.values.asScala.filter(_ > 0).toVector
    }
  }

  /** @param between arrivals in a shard */
  private def put(stream: TestStream, shards: Int, records: Int, between: Duration): Unit = {
    val ids = kinesis.streams.shards(stream.name).map(_.id)
    (0 until records).foreach { i =>
      if (i % shards == 0) serverClock.advance(between)
      kinesis.streams.putInto(stream.name, ids(i % shards), "k", Record)
    }
  }

  private def rows(batches: Batches) = batches.values.asScala.sum

  private def withRows(batches: Batches)(check: => Any) =
    withClue(s"rows of the batches: ${batches.values.asScala.mkString(", ")}: ")(check)

  /** The batches' rows, by their numbers. */
  private type Batches = ConcurrentSkipListMap[Long, Long]

  private def reading[A](stream: TestStream, trigger: FiniteDuration)(body: (StreamingQuery, Batches) => A): A = {
    val batches = new Batches
    // A buffer that fills in seconds, as the default's does with many shards.
    val frame = load(stream, "readerBufferSize" -> "16m")
    val query = start(frame, checkpoint(), Trigger.ProcessingTime(trigger.toMillis)) { (batch, id) =>
      batches.put(id, batch.count()): Unit
    }
    try body(query, batches)
    finally {
      query.stop()
      // It has up to a gigabyte of this JVM's heap.
      kinesis.streams.deleteStream(stream.name)
    }
  }

  describe("a query keeps up with 90% of its shards' read limit") {
    it("with a trigger of 10 seconds and a buffer that fills in 2")(
      worksOff(10.seconds, shards = 4, intervals = 2)
    )
    it("with a trigger of 1 minute and a buffer that fills in 4 seconds")(
      worksOff(1.minute, shards = 2, intervals = 2)
    )
    it("with a trigger of 10 minutes and a buffer that fills in 8 seconds")(
      worksOff(10.minutes, shards = 1, intervals = 1)
    )
  }

  it("a query takes nine tenths of 100 MB that arrived within a second in two batches, with a buffer of 16 MB") {
    val batches = batchesOf(records = 500, within = 1.second, trigger = 10.seconds, shards = 4)
    withClue(s"rows of the batches: ${batches.mkString(", ")}: ")(batches.sorted.takeRight(2).sum should be >= 450L)
  }
}

object SlowTrigger {

  /** @see [[https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html Kinesis: quotas and limits]] */
  private val BytesPerSecond = 2L << 20

  private val Record = new Array[Byte](200000)

  /** A shard takes 1 MiB a second. */
  private val AtWriteLimit = Duration.ofMillis(Record.length * 1000L / (1L << 20))
}

class SlowTriggerSpec extends Suites(Mode.both.map(new SlowTrigger(_)): _*)
