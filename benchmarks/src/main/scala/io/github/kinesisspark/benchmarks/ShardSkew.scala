package io.github.kinesisspark.benchmarks

import java.time.Duration
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.streaming.Trigger

import io.github.kinesisspark.testkit.{KinesisServer, KinesisServerConfig, MovableClock, ServiceClock}

/** What `maxShardSkew` costs a catch-up: an hour's backlog of four shards, one of which has as much as the others together,
  * counted by `Trigger.AvailableNow`, without a limit and with one. One JSON line for each run; the first run of all warms up and isn't printed.
  *
  * {{{ ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.ShardSkew off 1s 10s 1m" }}}
  */
object ShardSkew {
  private val Shards      = 4
  private val RecordBytes = 2000
  private val Seconds     = 3600
  private val Rounds      = 3

  def main(skews: Array[String]): Unit = {
    val report = new Report(this, skews.toSeq)
    val clock  = ServiceClock.shifted()
    val server = KinesisServer.start(KinesisServerConfig(clock = clock))
    val spark  = BenchmarkSession.start()
    fill(server, clock)
    run(spark, server, "off", None): Unit
    for (_ <- 1 to Rounds; limit <- Seq(None, Some(4000)); skew <- skews) report.print(run(spark, server, skew, limit))
    spark.stop()
    server.close()
  }

  private def fill(server: KinesisServer, clock: MovableClock): Unit = {
    server.streams.createStream("uneven", Shards)
    val shards = server.streams.shards("uneven").map(_.id)
    for (second <- 0 until Seconds) {
      for ((shard, n) <- shards.zipWithIndex; _ <- 0 until (if (n == 0) 3 * (Shards - 1) else 3))
        server.streams.putInto("uneven", shard, "key", Array.fill(RecordBytes)(second.toByte)): Unit
      clock.advance(Duration.ofSeconds(1))
    }
  }

  private def run(spark: SparkSession, server: KinesisServer, skew: String, limit: Option[Int]): String = {
    val rows  = new AtomicLong
    val began = System.nanoTime()
    val query = spark.readStream
      .format("kinesis")
      .options(
        Map(
          "streamName"       -> "uneven",
          "region"           -> server.region,
          "endpoint"         -> server.endpoint.toString,
          "accessKeyId"      -> "test",
          "secretAccessKey"  -> "test",
          "startingPosition" -> "TRIM_HORIZON",
          "maxShardSkew"     -> skew
        ) ++ limit.map(n => "maxRecordsPerTrigger" -> n.toString)
      )
      .load()
      .writeStream
      .trigger(Trigger.AvailableNow)
      .foreachBatch((batch: DataFrame, _: Long) => rows.addAndGet(batch.count()): Unit)
      .start()
    query.awaitTermination()
    val seconds = (System.nanoTime() - began) / 1e9
    val batches = query.recentProgress.count(_.numInputRows > 0)
    val mb      = rows.get * RecordBytes / 1e6
    f"""{"benchmark":"shardSkew","maxShardSkew":"$skew","maxRecordsPerTrigger":${limit.fold("null")(
        _.toString
      )},"rows":${rows.get},"seconds":$seconds%.2f,"batches":$batches,"mbPerSecond":${mb / seconds}%.1f}"""
  }
}
