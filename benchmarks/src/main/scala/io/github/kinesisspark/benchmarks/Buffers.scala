package io.github.kinesisspark.benchmarks

import org.apache.spark.sql.SparkSession

/** Throughput of a catch-up against `readerBufferSize`: each size has its turn in each round, on one backlog. */
object Buffers {
  private val Sizes       = Seq(16, 32, 64, 128, 256, 512)
  private val Shards      = 16
  private val RecordBytes = 1000
  private val Megabytes   = 1500
  private val Warmup      = 2
  private val Rounds      = 3

  def figures(spark: SparkSession): Seq[Figure] = Seq("polling", "efo").flatMap { publisher =>
    val server = new ServerProcess(Map(FullStream.Stream -> Shards), heap = "6g")
    val client = server.client()
    try {
      val bytes        = FullStream.fill(client, RecordBytes, Megabytes * 1000000L)
      val source       = server.source(FullStream.Stream, publisher)
      def of(mib: Int) = {
        val began = System.nanoTime()
        FullStream.drain(spark, source + ("readerBufferSize" -> s"${mib}m"))
        bytes / 1e6 / ((System.nanoTime() - began) / 1e9)
      }
      (1 to Warmup).foreach(_ => of(Sizes.last): Unit)
      val rounds = Seq.fill(Rounds)(Sizes.map(of))
      Sizes.zip(rounds.transpose).map { case (mib, values) =>
        Figure(
          s"buffer.$publisher.${mib}MiB.throughput",
          values,
          "MB/s",
          None,
          s"$Megabytes MB in records of $RecordBytes B from $Shards shards, AvailableNow into a noop sink; all sizes in turns, after $Warmup rounds of warm-up"
        )
      }
    } finally {
      client.close()
      server.close()
    }
  }
}
