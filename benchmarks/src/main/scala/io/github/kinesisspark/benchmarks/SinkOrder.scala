package io.github.kinesisspark.benchmarks

import scala.concurrent.duration._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.functions._

import io.github.kinesisspark.testkit.{FaultEffect, FaultRule, KinesisServer}

/** What `ordered` costs and `aggregate` saves: rows of few and of many partition keys, written with and without them, to a service that answers each call
  * after 10 ms, as one in the same region does. One JSON line for each run; the first run of all warms up and isn't printed.
  *
  * {{{ ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.SinkOrder 10 1000 100000" }}}
  */
object SinkOrder {
  private val Rows   = 100_000L
  private val Rounds = 3
  private val Answer = 10.millis

  def main(keys: Array[String]): Unit = {
    val report = new Report(this, keys.toSeq)
    val server = KinesisServer.start()
    server.faults.add(FaultRule(FaultEffect.Delay(Answer), action = Some("PutRecords")))
    val spark = BenchmarkSession.start()
    run(spark, server, "warm-up", 1000, ordered = false, aggregate = false): Unit
    for {
      round     <- 1 to Rounds
      count     <- keys.map(_.toLong)
      ordered   <- Seq(false, true)
      aggregate <- Seq(false, true)
    } report.print(run(spark, server, s"sink-$round-$count-$ordered-$aggregate", count, ordered, aggregate))
    spark.stop()
    server.close()
  }

  private def run(
      spark: SparkSession,
      server: KinesisServer,
      stream: String,
      keys: Long,
      ordered: Boolean,
      aggregate: Boolean
  ): String = {
    server.streams.createStream(stream, 4)
    val rows  = math.min(Rows, keys * 1000)
    val began = System.nanoTime()
    spark
      .range(0, rows, 1, 2)
      .select(rpad(col("id").cast("string"), 200, "x").as("data"), (col("id") % keys).cast("string").as("partitionKey"))
      .write
      .format("kinesis")
      .options(
        Map(
          "streamName"      -> stream,
          "region"          -> server.region,
          "endpoint"        -> server.endpoint.toString,
          "accessKeyId"     -> "test",
          "secretAccessKey" -> "test",
          "ordered"         -> ordered.toString,
          "aggregate"       -> aggregate.toString
        )
      )
      .mode("append")
      .save()
    val seconds = (System.nanoTime() - began) / 1e9
    val calls   = server.calls.count("PutRecords", stream)
    val records = server.streams.recordCount(stream)
    require(aggregate || records == rows, "rows are missing, or there twice")
    f"""{"benchmark":"sinkOrder","keys":$keys,"ordered":$ordered,"aggregate":$aggregate,"rows":$rows,"seconds":$seconds%.2f,"rowsPerSecond":${rows / seconds}%.0f,"calls":$calls,"records":$records}"""
  }
}
