package io.github.kinesisspark.benchmarks

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQuery

/** The Spark that benchmarks run on: two cores, in this JVM, and silent. */
object BenchmarkSession {
  val Cores = 2

  def start(): SparkSession = SparkSession
    .builder()
    .master(s"local[$Cores]")
    .config("spark.ui.enabled", "false")
    .config("spark.log.level", "ERROR")
    .getOrCreate()

  /** A query that drops what it reads. */
  def drain(spark: SparkSession, source: Map[String, String]): StreamingQuery =
    spark.readStream.format("kinesis").options(source).load().writeStream.format("noop").start()
}
