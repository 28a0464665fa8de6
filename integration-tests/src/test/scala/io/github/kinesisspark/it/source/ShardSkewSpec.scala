package io.github.kinesisspark.it.source

import java.time.Duration
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, window}
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}
import software.amazon.awssdk.services.kinesis.model.Shard

import io.github.kinesisspark.it.TestStream

/** Reads a backlog of two shards, one with many and one with few records or bytes per minute, by a query with windows and a watermark. */
@Slow
final class ShardSkewSpec extends TestkitSuite {
  import ShardSkewSpec._

  describe("a catch-up on uneven shards") {
    // Room for one answer of 10 MB, so that it takes the shard with much several batches.
    val bySpeed = Seq("readerBufferSize" -> "16m")
    val byLimit = Seq("maxRecordsPerTrigger" -> "100")

    it("drops late rows with maxShardSkew off if a record limit lets the smaller shard run ahead") {
      val result = counting(uneven(seconds = 1800, hotBytes = 10), byLimit :+ "maxShardSkew" -> "off")
      result.dropped should be > 0L
      result.counted should be < result.put
    }

    it("drops no rows with maxShardSkew=30s and the same record limit") {
      val result = counting(uneven(seconds = 1800, hotBytes = 10), byLimit :+ "maxShardSkew" -> "30s")
      result.dropped shouldBe 0
      result.counted shouldBe result.put
    }

    it("drops late rows with maxShardSkew off if one shard is read faster than the other") {
      val result = counting(uneven(seconds = 600, hotBytes = 100000), bySpeed :+ "maxShardSkew" -> "off")
      result.dropped should be > 0L
      result.counted should be < result.put
    }

    it("drops no rows with the default maxShardSkew and the same buffer") {
      val result = counting(uneven(seconds = 600, hotBytes = 100000), bySpeed)
      result.dropped shouldBe 0
      result.counted shouldBe result.put
    }
  }

  describe("a catch-up past a split") {
    val trigger = Trigger.ProcessingTime("10 seconds")

    it("drops late rows with maxShardSkew off and a trigger that outlasts the buffers") {
      val result = counting(split(), Seq("readerBufferSize" -> "16m", "maxShardSkew" -> "off"), trigger, delay = 5)
      result.dropped should be > 0L
    }

    it("drops no rows with maxShardSkew=2s and the same trigger") {
      val result = counting(split(), Seq("readerBufferSize" -> "16m", "maxShardSkew" -> "2s"), trigger, delay = 5)
      result.dropped shouldBe 0
      result.counted shouldBe result.put
    }
  }

  /** Two shards with five records a second, of which the first takes 1 MB a second, and is split after 45 s. */
  private def split(): TestStream = {
    val stream                                                  = newStream(shards = 2)
    val open                                                    = stream.openShards()
    val (parent, other)                                         = (open.head, open.last)
    def put(seconds: Int, bytes: Int, shards: Seq[Shard]): Unit = (0 until 5 * seconds).foreach { _ =>
      shards.foreach(s => kinesis.streams.putInto(stream.name, s.shardId, "key", new Array[Byte](bytes)))
      kinesis.streams.putInto(stream.name, other.shardId, "key", new Array[Byte](20000))
      serverClock.advance(Duration.ofMillis(200))
    }
    put(seconds = 45, bytes = 200000, Seq(parent))
    stream.split(parent)
    put(seconds = 105, bytes = 20000, stream.shards().filter(_.parentShardId == parent.shardId))
    stream
  }

  /** A record a second in the first shard, one every 15 s in the second. */
  private def uneven(seconds: Int, hotBytes: Int): TestStream = {
    val stream    = newStream(shards = 2)
    val Seq(a, b) = kinesis.streams.shards(stream.name).map(_.id): @unchecked
    (0 until seconds).foreach { second =>
      kinesis.streams.putInto(stream.name, a, "key", new Array[Byte](hotBytes))
      if (second % 15 == 0) kinesis.streams.putInto(stream.name, b, "key", new Array[Byte](10))
      serverClock.advance(Duration.ofSeconds(1))
    }
    stream
  }

  /** Windows that are a third as long as the watermark is behind.
    *
    * @param delay of the watermark, in seconds
    */
  private def counting(
      stream: TestStream,
      more: Seq[(String, String)],
      trigger: Trigger = Trigger.AvailableNow,
      delay: Int = 30
  ): Result = {
    val counts   = new ConcurrentHashMap[(String, String), Long]
    val windowed = load(stream, more: _*)
      .withWatermark("approximateArrivalTimestamp", s"$delay seconds")
      .groupBy(window(col("approximateArrivalTimestamp"), s"${delay * 1000 / 3} milliseconds"), col("shardId"))
      .count()
      .selectExpr("cast(window.start as string)", "shardId", "count")
    val query = windowed.writeStream
      .outputMode("update")
      .option("checkpointLocation", checkpoint().toString)
      .trigger(trigger)
      .foreachBatch { (batch: DataFrame, _: Long) =>
        batch.collect().foreach(r => counts.put(r.getString(0) -> r.getString(1), r.getLong(2)))
      }
      .start()
    failAfter(Span(300, Seconds)) {
      if (trigger == Trigger.AvailableNow) query.awaitTermination() else query.processAllAvailable()
    }
    query.stop()
    val late = query.recentProgress.flatMap(_.stateOperators).map(_.numRowsDroppedByWatermark).sum
    Result(kinesis.streams.recordCount(stream.name), counts.values.asScala.sum, late)
  }
}

object ShardSkewSpec {

  /** Rows: in the stream, in the windows, and those that came after the watermark. */
  private final case class Result(put: Long, counted: Long, dropped: Long)
}
