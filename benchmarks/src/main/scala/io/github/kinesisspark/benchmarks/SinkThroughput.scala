package io.github.kinesisspark.benchmarks

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{CompletableFuture, Semaphore}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.functions._
import io.github.kinesisspark.shaded.software.amazon.awssdk.core.SdkBytes
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry

/** How fast rows of 100 bytes are written: by the sink, by the sink with aggregation, and by a bare loop of the SDK's PutRecords calls that is given
  * as many threads and calls under way, and puts again at once what was refused. They take turns on one server, which has a JVM of its
  * own on the same machine: with `limits` its shards take what those of the service take, without they take whatever comes, so that CPU is what
  * limits. One JSON line for each run and one with the medians; the first rounds warm up and aren't printed.
  *
  * CPU is that of this JVM, without the server's.
  *
  * {{{ ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.SinkThroughput 1000000" }}}
  * {{{ ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.SinkThroughput 60000 limits" }}}
  */
object SinkThroughput {
  private val Rounds   = 5
  private val WarmUp   = 2
  private val Tasks    = BenchmarkSession.Cores
  private val Shards   = 4
  private val Payload  = 100
  private val InFlight = 8
  private val PerCall  = 500

  private val DigitsOfRow = 6

  sealed abstract class Way(val name: String)
  case object Raw        extends Way("raw")
  case object Sink       extends Way("sink")
  case object Aggregated extends Way("aggregate")

  private val Ways = Seq(Raw, Sink, Aggregated)

  /** @param cpu by use, without that of the bare loop's threads, which end with it */
  final case class Run(way: Way, records: Long, seconds: Double, cpuMicros: Double, cpu: CpuShares) {
    def perSecond: Double = records / seconds

    def json: ujson.Obj = ujson.Obj(
      "benchmark"       -> "sinkThroughput",
      "way"             -> way.name,
      "rows"            -> records.toDouble,
      "seconds"         -> Figure.rounded(seconds),
      "rowsPerSecond"   -> Figure.rounded(perSecond),
      "cpuMicrosPerRow" -> Figure.rounded(cpuMicros),
      "cpuMicrosBy"     -> ujson.Obj.from(cpu.byUse.toSeq.sorted.map { case (use, s) =>
        use -> ujson.Num(Figure.rounded(s * 1e6 / records))
      })
    )
  }

  /** Runs in their order: one of each way in each round.
    *
    * @param warmup rounds that don't count
    */
  final case class Compared(warmup: Int, runs: Seq[Run])

  def main(args: Array[String]): Unit = {
    val report = new Report(this, args.toSeq)
    val rows   = args.headOption.fold(1_000_000L)(_.toLong)
    val limits = args.drop(1).contains("limits")
    val spark  = BenchmarkSession.start()
    try {
      val runs = compare(spark, rows, Payload, limits, leastWarmup = WarmUp, mostWarmup = WarmUp, Rounds).runs
      runs.foreach(run => report.print(run.json))
      report.print(summary(runs, limits))
    } finally spark.stop()
  }

  /** Warms up until all ways are warm, and then measures them in turns.
    *
    * @param payload bytes of a row's data
    */
  def compare(
      spark: SparkSession,
      rows: Long,
      payload: Int,
      limits: Boolean,
      leastWarmup: Int,
      mostWarmup: Int,
      rounds: Int
  ): Compared = {
    val server        = new ServerProcess(Map.empty, if (limits) Seq("--limits") else Nil, heap = "6g")
    val client        = server.client()
    def round(n: Int) = Ways.map { way =>
      val stream = s"${way.name}-$n"
      client.createStream(r => r.streamName(stream).shardCount(Shards): Unit).join(): Unit
      client.waiter.waitUntilStreamExists(r => r.streamName(stream): Unit).join(): Unit
      val run = way match {
        case Raw        => measured(way, rows)(raw(client, stream, rows, payload))
        case Sink       => measured(way, rows)(sink(spark, server, stream, rows, payload, aggregate = false))
        case Aggregated => measured(way, rows)(sink(spark, server, stream, rows, payload, aggregate = true))
      }
      client.deleteStream(r => r.streamName(stream): Unit).join(): Unit
      System.err.println(run.json.render())
      run
    }
    try {
      val warmup = Warmup.until(leastWarmup, mostWarmup)(round)(_.forall(run => Warmup.isOver(run.cpu)))
      Compared(warmup, (1 to rounds).flatMap(n => round(warmup + n)))
    } finally {
      client.close()
      server.close()
    }
  }

  private def summary(runs: Seq[Run], limits: Boolean): ujson.Obj = {
    def median(way: Way)(of: Run => Double) = Figure.median(runs.filter(_.way == way).map(of))
    def speed(way: Way)                     = Figure.rounded(median(way)(_.perSecond) / median(Raw)(_.perSecond))
    ujson.Obj(
      "benchmark"       -> "sinkThroughput",
      "limits"          -> limits,
      "sinkToRaw"       -> speed(Sink),
      "aggregateToRaw"  -> speed(Aggregated),
      "cpuMicrosPerRow" -> ujson.Obj.from(
        Ways.map(way => way.name -> ujson.Num(Figure.rounded(median(way)(_.cpuMicros))))
      )
    )
  }

  private def measured(way: Way, rows: Long)(write: => Unit): Run = {
    val (cpu, shares, began) = (CpuShares.nanosOfProcess, CpuShares.now(), System.nanoTime())
    write
    val seconds = (System.nanoTime() - began) / 1e9
    Run(way, rows, seconds, (CpuShares.nanosOfProcess - cpu) / 1e3 / rows, CpuShares.now().since(shares))
  }

  private def sink(
      spark: SparkSession,
      server: ServerProcess,
      stream: String,
      rows: Long,
      payload: Int,
      aggregate: Boolean
  ): Unit =
    spark
      .range(0, rows, 1, Tasks)
      .select(
        concat(col("id").cast("string"), lit(filler(payload))).as("data"),
        col("id").cast("string").as("partitionKey")
      )
      .write
      .format("kinesis")
      .options(server.options ++ Map("streamName" -> stream, "aggregate" -> aggregate.toString))
      .mode("append")
      .save()

  /** All that a row has beside its number. Both sides make rows of it, as cheaply: it is not their making that is measured. */
  private def filler(payload: Int) = "x" * (payload - DigitsOfRow)

  private def raw(client: KinesisAsyncClient, stream: String, rows: Long, payload: Int): Unit = {
    val threads = (0 until Tasks).map { task =>
      CompletableFuture.runAsync(() => rawTask(client, stream, rows * task / Tasks, rows * (task + 1) / Tasks, payload))
    }
    threads.foreach(_.join(): Unit)
  }

  private def rawTask(client: KinesisAsyncClient, stream: String, from: Long, to: Long, payload: Int): Unit = {
    val free   = new Semaphore(InFlight)
    val filled = filler(payload)
    val all    = (from until to).iterator.grouped(PerCall).map { ids =>
      val entries = ids.map { id =>
        val data = (id.toString + filled).getBytes(UTF_8)
        PutRecordsRequestEntry.builder.partitionKey(id.toString).data(SdkBytes.fromByteArrayUnsafe(data)).build
      }
      free.acquire()
      put(client, stream, entries.toVector).whenComplete((_, _) => free.release())
    }
    all.toVector.foreach(_.join(): Unit)
  }

  private def put(
      client: KinesisAsyncClient,
      stream: String,
      entries: Vector[PutRecordsRequestEntry]
  ): CompletableFuture[Unit] =
    client.putRecords(r => r.streamName(stream).records(entries.asJava): Unit).thenCompose { answer =>
      val refused = entries.zip(answer.records.asScala).collect { case (entry, r) if r.errorCode != null => entry }
      if (refused.isEmpty) CompletableFuture.completedFuture(()) else put(client, stream, refused)
    }
}
