package io.github.kinesisspark.benchmarks

import java.nio.file.Path

import jdk.jfr.{Configuration, Recording}

/** Flight recording of a catch-up, for flame graphs: the same query as in [[ReadThroughput]], warm, without the bare loop beside it.
  *
  * {{{ ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.ReadProfile polling polling.jfr" }}}
  */
object ReadProfile {
  private val Shards      = 16
  private val RecordBytes = 1000
  private val Megabytes   = 2000
  private val Warmup      = 6
  private val Recorded    = 3

  def main(args: Array[String]): Unit = {
    val (publisher, file) = (args(0), Path.of(args(1)))
    val server            = new ServerProcess(Map(ReadThroughput.Stream -> Shards), heap = "7g")
    val client            = server.client()
    val spark             = BenchmarkSession.start()
    try {
      ReadThroughput.fill(client, RecordBytes, Megabytes * 1000000L): Unit
      def drain() = ReadThroughput.drain(spark, server.source(ReadThroughput.Stream, publisher))
      (1 to Warmup).foreach(_ => drain())
      val recording = new Recording(Configuration.getConfiguration("profile"))
      recording.start()
      (1 to Recorded).foreach(_ => drain())
      recording.stop()
      recording.dump(file)
      recording.close()
    } finally {
      spark.stop()
      client.close()
      server.close()
    }
  }
}
