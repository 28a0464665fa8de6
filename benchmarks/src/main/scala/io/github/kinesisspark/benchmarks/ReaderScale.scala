package io.github.kinesisspark.benchmarks

import java.lang.management.ManagementFactory

import scala.concurrent.duration._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQuery

/** What readers cost, against the number of shards: a query on a stream that is idle, its driver and only executor in one JVM
  * (`local[2]`), the embedded server in another. One JSON line for each size: how long until the first planning was over; then, once it
  * has settled, over a while the CPU time of the whole JVM in cores, the median of a planning with its waiting for news, threads, and the heap that a
  * collection leaves. The first query warms up and isn't printed.
  *
  * {{{ ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.ReaderScale polling 16 160 1000 1600 10000" }}}
  */
object ReaderScale {
  private val Looking = 20.seconds
  private val Warmup  = 16

  /** How long a query runs before it is looked at: it takes the JVM so long to compile what is called, which costs more than calling it. */
  private val Settling = 60.seconds

  def main(arguments: Array[String]): Unit = {
    val report             = new Report(this, arguments.toSeq)
    val (publisher, sizes) = (arguments.head, arguments.tail.map(_.toInt).toVector)
    val streams            = (Warmup +: sizes).zipWithIndex.map { case (shards, n) => s"idle-$n" -> shards }
    val server             = new ServerProcess(streams.toMap)
    val spark              = BenchmarkSession.start()
    spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "1000")
    try
      streams
        .map { case (name, shards) => measure(spark, server, publisher, name, shards) }
        .tail
        .foreach(report.print(_: String))
    finally {
      spark.stop()
      server.close()
    }
  }

  private def measure(
      spark: SparkSession,
      server: ServerProcess,
      publisher: String,
      stream: String,
      shards: Int
  ): String = {
    val began = System.nanoTime()
    val query = BenchmarkSession.drain(spark, server.source(stream, publisher))
    while (query.isActive && !query.recentProgress.exists(_.numInputRows == 0)) Thread.sleep(20)
    val planned = System.nanoTime() - began
    Thread.sleep(Settling.toMillis)
    val (cpu, wall) = (CpuShares.nanosOfProcess, System.nanoTime())
    Thread.sleep(Looking.toMillis)
    val cores   = (CpuShares.nanosOfProcess - cpu).toDouble / (System.nanoTime() - wall)
    val threads = ManagementFactory.getThreadMXBean.getThreadCount
    val heap    = LiveHeap.bytes()
    val line    = f"""{"bench":"readers","publisher":"$publisher","shards":$shards,"cores":$cores%.3f,""" +
      f""""first_planning_s":${planned / 1e9}%.1f,"planning_ms":${planning(
          query
        )},"threads":$threads,"heap_mb":${heap >> 20}}"""
    query.stop()
    line
  }

  /** The median. */
  private def planning(query: StreamingQuery): Long = {
    val times = query.recentProgress.map(_.durationMs.getOrDefault("latestOffset", 0L).toLong).sorted
    times(times.length / 2)
  }
}
