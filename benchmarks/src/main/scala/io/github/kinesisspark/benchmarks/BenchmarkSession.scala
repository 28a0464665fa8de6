package io.github.kinesisspark.benchmarks

import org.apache.spark.sql.SparkSession

/** The Spark that benchmarks run on: two cores, in this JVM, and silent. */
object BenchmarkSession {
  val Cores = 2

  def start(): SparkSession = SparkSession
    .builder()
    .master(s"local[$Cores]")
    .config("spark.ui.enabled", "false")
    .config("spark.log.level", "ERROR")
    .getOrCreate()
}
