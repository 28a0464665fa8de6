package io.github.kinesisspark.benchmarks

import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{CompletableFuture, Semaphore}

import scala.jdk.CollectionConverters._

import com.sun.management.OperatingSystemMXBean
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.functions._
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry

/** How fast rows of 100 bytes are written: by the sink, by the sink with aggregation, and by a bare loop of the SDK's PutRecords calls that is given
  * as many threads and calls under way, and puts again at once what was refused. They take turns on one server, which has a JVM of its
  * own on the same machine: with `limits` its shards take what those of the service take, without they take whatever comes, so that CPU is what
  * limits. One JSON line for each run and one with the medians; the first round warms up and isn't printed.
  *
  * CPU is that of this JVM, without the server's.
  *
  * {{{ ./sbt "benchmarks/runMain io.github.kinesisspark.benchmarks.SinkThroughput 1000000" }}}
  * {{{ ./sbt "benchmarks/runMain io.github.kinesisspark.benchmarks.SinkThroughput 60000 limits" }}}
  */
object SinkThroughput {
  private val Rounds   = 5
  private val Tasks    = BenchmarkSession.Cores
  private val Shards   = 4
  private val Payload  = 100
  private val InFlight = 8
  private val PerCall  = 500

  private sealed abstract class Way(val name: String)
  private case object Raw        extends Way("raw")
  private case object Sink       extends Way("sink")
  private case object Aggregated extends Way("aggregate")

  private final case class Run(way: Way, records: Long, seconds: Double, cpuMicros: Double) {
    def perSecond: Double = records / seconds

    def json: String =
      f"""{"benchmark":"sinkThroughput","way":"${way.name}","rows":$records,"seconds":$seconds%.2f,"rowsPerSecond":$perSecond%.0f,"cpuMicrosPerRow":$cpuMicros%.2f}"""
  }

  def main(args: Array[String]): Unit = {
    val report = new Report(this, args.toSeq)
    val rows   = args.headOption.fold(1_000_000L)(_.toLong)
    val limits = args.drop(1).contains("limits")
    val server = new ServerProcess(Map.empty, if (limits) Seq("--limits") else Nil)
    val client = server.client()
    val spark  = BenchmarkSession.start()
    val runs   = for {
      round <- 0 to Rounds
      way   <- Seq(Raw, Sink, Aggregated)
    } yield {
      val stream = s"${way.name}-$round"
      client.createStream(r => r.streamName(stream).shardCount(Shards): Unit).join(): Unit
      client.waiter.waitUntilStreamExists(r => r.streamName(stream): Unit).join(): Unit
      val run = way match {
        case Raw        => measured(way, rows)(raw(client, stream, rows))
        case Sink       => measured(way, rows)(sink(spark, server, stream, rows, aggregate = false))
        case Aggregated => measured(way, rows)(sink(spark, server, stream, rows, aggregate = true))
      }
      client.deleteStream(r => r.streamName(stream): Unit).join(): Unit
      if (round > 0) report.print(run.json)
      Option.when(round > 0)(run)
    }
    report.print(summary(runs.flatten, limits))
    spark.stop()
    client.close()
    server.close()
  }

  private def summary(runs: Seq[Run], limits: Boolean): String = {
    def median(way: Way)(of: Run => Double) = {
      val sorted = runs.filter(_.way == way).map(of).sorted
      sorted(sorted.size / 2)
    }
    val speed = Seq(Sink, Aggregated).map(way => way -> median(way)(_.perSecond) / median(Raw)(_.perSecond)).toMap
    val cpu   = Seq(Raw, Sink, Aggregated).map(way => way -> median(way)(_.cpuMicros)).toMap
    f"""{"benchmark":"sinkThroughput","limits":$limits,"sinkToRaw":${speed(Sink)}%.2f,"aggregateToRaw":${speed(
        Aggregated
      )}%.2f,""" +
      f""""cpuMicrosPerRow":{"raw":${cpu(Raw)}%.2f,"sink":${cpu(Sink)}%.2f,"aggregate":${cpu(Aggregated)}%.2f}}"""
  }

  private def measured(way: Way, rows: Long)(write: => Unit): Run = {
    val cpu   = cpuNanos
    val began = System.nanoTime()
    write
    Run(way, rows, (System.nanoTime() - began) / 1e9, (cpuNanos - cpu) / 1e3 / rows)
  }

  private def cpuNanos =
    ManagementFactory.getOperatingSystemMXBean.asInstanceOf[OperatingSystemMXBean].getProcessCpuTime

  private def sink(spark: SparkSession, server: ServerProcess, stream: String, rows: Long, aggregate: Boolean): Unit =
    spark
      .range(0, rows, 1, Tasks)
      .select(
        rpad(col("id").cast("string"), Payload, "x").as("data"),
        col("id").cast("string").as("partitionKey")
      )
      .write
      .format("kinesis")
      .options(server.options ++ Map("streamName" -> stream, "aggregate" -> aggregate.toString))
      .mode("append")
      .save()

  private def raw(client: KinesisAsyncClient, stream: String, rows: Long): Unit = {
    val threads = (0 until Tasks).map { task =>
      CompletableFuture.runAsync(() => rawTask(client, stream, rows * task / Tasks, rows * (task + 1) / Tasks))
    }
    threads.foreach(_.join(): Unit)
  }

  private def rawTask(client: KinesisAsyncClient, stream: String, from: Long, to: Long): Unit = {
    val free = new Semaphore(InFlight)
    val all  = (from until to).iterator.grouped(PerCall).map { ids =>
      val entries = ids.map { id =>
        val data = id.toString.padTo(Payload, 'x').getBytes(UTF_8)
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
