package io.github.kinesisspark.it.faults

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.scalatest.Suites
import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}

/** What thousands of shards cost, in figures: heap after a collection, and the time to plan a batch. The query has a JVM of
  * its own with 768 MB of heap, so that neither the server nor other tests count. Options are the defaults.
  */
final class ManyShardsFigures(override protected val mode: Mode) extends TestkitSuite {
  import ManyShardsFigures._

  override def suiteName: String = s"Many shards in figures by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  private def query(stream: TestStream): ForkedQuery =
    ForkedQuery.start(options(stream) ++ mode.options + ("startingPosition" -> "TRIM_HORIZON"), heap = "768m")

  /** Until each shard is read by somebody: its first record has come. */
  private def awaitAll(stream: TestStream, query: ForkedQuery): Unit = {
    val shards = kinesis.streams.shards(stream.name).map(_.id)
    shards.foreach(kinesis.streams.putInto(stream.name, _, "key", "first".getBytes))
    eventually(timeout(Span(300, Seconds)))(query.look().rows shouldBe shards.size)
  }

  private def heapOf(shards: Int): Long = {
    val stream = newStream(shards)
    val one    = query(stream)
    try {
      awaitAll(stream, one)
      one.collected().heap
    } finally one.close()
  }

  private def bounded(shards: Int): Unit = {
    val few    = heapOf(4)
    val stream = newStream(shards)
    val many   = query(stream)
    try {
      awaitAll(stream, many)
      val hot      = kinesis.streams.shards(stream.name)(shards / 2).id
      val before   = many.look().rows
      var planning = Vector.empty[Long]
      for (round <- 1 to Rounds) {
        kinesis.streams.putInto(stream.name, hot, "key", s"hot-$round".getBytes)
        eventually(many.look().rows shouldBe before + round)
        // Without latestOffset, which waits for records as well.
        planning :+= eventually {
          val durations = many.look().durations
          durations("queryPlanning") + durations("getBatch") + durations("walCommit")
        }
      }
      val heap = many.collected().heap
      info(s"$mode: ${few >> 20} MiB at 4 shards, ${heap >> 20} MiB at $shards; planning ${planning.sorted} ms")
      heap - few should be <= MoreOnce + shards * (if (mode == Mode.Polling) EachPolled else EachSubscribed)
      planning.sorted.apply(planning.size / 2) should be <= 500L
      many.look().failure shouldBe empty
    } finally many.close()
  }

  describe("shards of which one has records") {
    it(
      "take at most 12 KiB of heap each by polling and 32 KiB by fan-out, and batches are planned in 500 ms: 300",
      Slow
    ) {
      bounded(300)
    }

    it(
      "take at most 12 KiB of heap each by polling and 32 KiB by fan-out, and batches are planned in 500 ms: 2,000",
      Slow
    ) {
      bounded(2000)
    }
  }
}

object ManyShardsFigures {
  private val Rounds = 11

  /** By what 4 shards don't need yet: grown pools, caches and metrics. */
  private val MoreOnce = 8L << 20

  /** Measured: 10,084 and 29,677 bytes at 2,000 shards. */
  private val EachPolled     = 12L << 10
  private val EachSubscribed = 32L << 10
}

class ManyShardsFiguresSpec extends Suites(Mode.both.map(new ManyShardsFigures(_)): _*)

/** One shard's records on 64 cores. */
final class ManyCores(override protected val mode: Mode) extends TestkitSuite {
  override def suiteName: String = s"Many cores by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  override protected def master: String = "local[64,4]"

  describe("a batch of one shard with minPartitions=64") {
    it("gives each of 64 tasks its share of the records, and none more than three times the mean") {
      val stream = newStream(shards = 1)
      val texts  = put(stream, "r", 6400)
      val sizes  = new ConcurrentLinkedQueue[Seq[Int]]
      val log    = new BatchLog
      // The default is a task for each shard; the option is what is tested.
      running(load(stream, "minPartitions" -> "64"), checkpoint()) { (batch: DataFrame, id: Long) =>
        sizes.add(batch.rdd.mapPartitions(rows => Iterator(rows.size)).collect().toSeq)
        log.add(batch, id)
      }(_ => eventually(log.rows.size shouldBe texts.size))
      log.texts shouldBe texts
      val largest = sizes.asScala.maxBy(_.sum)
      withClue(s"$largest: ") {
        largest should have size 64
        largest.min should be >= 1
        largest.max.toDouble should be <= 3.0 * largest.sum / 64
      }
    }
  }
}

class ManyCoresSpec extends Suites(Mode.both.map(new ManyCores(_)): _*)
