package io.github.kinesisspark.benchmarks

import java.util.concurrent.{Executors, TimeUnit}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.spark.sql.SparkSession
import io.github.kinesisspark.shaded.software.amazon.awssdk.core.SdkBytes
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry

/** What a stream costs that is read all day: cores and calls while each shard takes its 1 MB/s, calls while it is idle, and calls of a catch-up. Server
  * and producer have JVMs of their own; the query, which drops what it reads, has its driver and its only executor in this one.
  */
object Costs {
  private val Shards      = 16
  private val RecordBytes = 1000
  private val CatchUpMb   = 640
  private val Settling    = 30.seconds
  private val Looking     = 20.seconds

  def figures(spark: SparkSession): Seq[Figure] = Seq("polling", "efo").flatMap(of(spark, _))

  private def of(spark: SparkSession, publisher: String): Seq[Figure] = {
    val server = new ServerProcess(
      Map("busy" -> Shards, "idle" -> Shards, FullStream.Stream -> Shards),
      heap = "6g"
    )
    try {
      val idle = watched(spark, server, "idle", publisher)
      val busy = {
        val load = SteadyLoad.start(server, "busy", megabytesPerSecond = Shards)
        try watched(spark, server, "busy", publisher)
        finally load.destroy()
      }
      val gigabytes = busy.seconds * Shards / 1e3
      val catchUp   = callsOfCatchUp(spark, server, publisher)
      val steady    =
        s"$Shards shards, each with 1 MB/s in records of $RecordBytes B, ${Looking.toSeconds} s after ${Settling.toSeconds} s"
      def figure(what: String, value: Double, unit: String, method: String) =
        Figure(s"cost.$publisher.$what", Seq(value), unit, None, method)
      Seq(
        figure(
          "cores_per_100_shards",
          busy.cores * 100 / Shards,
          "cores",
          s"$steady, batches without a trigger; the whole JVM's CPU, times 100/$Shards"
        ),
        figure("calls_per_gb", busy.calls / gigabytes, "calls", s"$steady; all calls of the query"),
        figure(
          "catch_up_calls_per_gb",
          catchUp,
          "calls",
          s"$CatchUpMb MB in $Shards shards from TRIM_HORIZON, AvailableNow; all calls of the query, with those of its start"
        ),
        figure(
          "idle_calls_per_shard_hour",
          idle.calls / Shards * (3600 / idle.seconds),
          "calls",
          s"$Shards idle shards, ${Looking.toSeconds} s after ${Settling.toSeconds} s, as an hour"
        )
      )
    } finally server.close()
  }

  /** @param cores of this JVM
    * @param calls of the query
    */
  private final case class Watched(seconds: Double, cores: Double, calls: Double)

  private def watched(spark: SparkSession, server: ServerProcess, stream: String, publisher: String): Watched = {
    val query = BenchmarkSession.drain(spark, server.source(stream, publisher))
    try {
      Thread.sleep(Settling.toMillis)
      val (calls, cpu, began) = (callsOf(server), CpuShares.nanosOfProcess, System.nanoTime())
      Thread.sleep(Looking.toMillis)
      val nanos = (System.nanoTime() - began).toDouble
      query.exception.foreach(throw _)
      Watched(nanos / 1e9, (CpuShares.nanosOfProcess - cpu) / nanos, (callsOf(server) - calls).toDouble)
    } finally query.stop()
  }

  private def callsOfCatchUp(spark: SparkSession, server: ServerProcess, publisher: String): Double = {
    val client = server.client()
    val bytes  =
      try FullStream.fill(client, RecordBytes, CatchUpMb * 1000000L)
      finally client.close()
    val before = callsOf(server)
    FullStream.drain(spark, server.source(FullStream.Stream, publisher))
    (callsOf(server) - before) / (bytes / 1e9)
  }

  /** Without the producer's. */
  private def callsOf(server: ServerProcess): Long = (server.calls - "PutRecords").values.sum
}

/** A JVM that puts records of 1,000 B at a steady pace. It ends with the one that started it. */
object SteadyLoad {
  private val RecordBytes = 1000
  private val Every       = 50.millis
  private val MostOfCall  = 500

  def start(server: ServerProcess, stream: String, megabytesPerSecond: Int): Process =
    new ProcessBuilder(
      Seq(
        ProcessHandle.current.info.command.get,
        "-Xmx512m",
        "-cp",
        sys.props("java.class.path"),
        "io.github.kinesisspark.benchmarks.SteadyLoad",
        server.options("endpoint"),
        server.options("region"),
        stream,
        megabytesPerSecond.toString
      ): _*
    ).redirectError(ProcessBuilder.Redirect.INHERIT).start()

  def main(args: Array[String]): Unit = {
    val Array(endpoint, region, stream, megabytesPerSecond) = args: @unchecked
    val client      = ServerProcess.clientOf(Map("endpoint" -> endpoint, "region" -> region)).build
    val random      = new Random(1)
    val data        = SdkBytes.fromByteArrayUnsafe(random.nextBytes(RecordBytes))
    val each        = (megabytesPerSecond.toLong * 1000000 * Every.toMillis / 1000 / RecordBytes).toInt
    val clock       = Executors.newSingleThreadScheduledExecutor()
    def put(): Unit =
      Seq
        .fill(each)(PutRecordsRequestEntry.builder.partitionKey(random.nextInt().toString).data(data).build)
        .grouped(MostOfCall)
        .foreach { entries =>
          client.putRecords(r => r.streamName(stream).records(entries.asJava): Unit): Unit
        }
    clock.scheduleAtFixedRate(() => put(), 0, Every.toMillis, TimeUnit.MILLISECONDS)
    // The one that started it holds the other end.
    while (System.in.read() >= 0) ()
    sys.exit()
  }
}
