package io.github.kinesisspark.benchmarks

import java.lang.management.{BufferPoolMXBean, ManagementFactory}
import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.spark.sql.SparkSession
import io.github.kinesisspark.shaded.software.amazon.awssdk.core.SdkBytes
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.model.{
  PutRecordsRequest,
  PutRecordsRequestEntry
}

/** What memory a query takes that has far more to read than it may hold: a `readerBufferSize` of 256 MB, eight shards without quotas full
  * of records of 1 MB, and nobody who waits for them. Driver and only executor share this JVM (`local[2]`); the embedded server has
  * another, which keeps all of the backlog in its memory.
  *
  * A JSON line for each publisher: what was read and how fast, the largest heap that a collection left of one every two seconds, the
  * largest direct memory, and the most that the process ever had of the machine's.
  *
  * {{{ ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.Backlog 10 polling efo" }}} for 10 GB
  */
object Backlog {
  private val Stream      = "backlog"
  private val Shards      = 8
  private val RecordBytes = 1000000
  private val PerCall     = 5

  def main(args: Array[String]): Unit = {
    val (gigabytes, publishers) = (args.head.toInt, args.tail.toVector)
    val report                  = new Report(this, args.toSeq)
    val records                 = gigabytes * 1000L
    val server                  = new ServerProcess(Map(Stream -> Shards), heap = s"${gigabytes + 4}g")
    val client                  = server.client()
    val spark                   = BenchmarkSession.start()
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "100000")
    try {
      fill(client, records)
      publishers.foreach(publisher => report.print(drain(spark, server, publisher, records)))
    } finally {
      spark.stop()
      client.close()
      server.close()
    }
  }

  private def fill(client: KinesisAsyncClient, records: Long): Unit = {
    val data = SdkBytes.fromByteArrayUnsafe(Random.nextBytes(RecordBytes))
    for (call <- 0L until records / PerCall) {
      val entries = (0 until PerCall).map { n =>
        PutRecordsRequestEntry.builder.partitionKey(s"$call-$n").data(data).build
      }
      client.putRecords(PutRecordsRequest.builder.streamName(Stream).records(entries: _*).build).get(): Unit
    }
  }

  private def drain(spark: SparkSession, server: ServerProcess, publisher: String, records: Long): ujson.Obj = {
    val began = System.nanoTime()
    val query = BenchmarkSession.drain(spark, server.source(Stream, publisher) + ("readerBufferSize" -> "256m"))
    val looks = mutable.ArrayBuffer.empty[Look]
    def read  = query.recentProgress.iterator.map(_.numInputRows).sum
    while (query.isActive && read < records) {
      Thread.sleep(2000)
      looks += Look.now()
    }
    val took = (System.nanoTime() - began) / 1e9
    query.stop()
    ujson.Obj(
      "benchmark"      -> "backlog",
      "publisher"      -> publisher,
      "records"        -> read.toDouble,
      "batches"        -> query.recentProgress.length,
      "mb_per_s"       -> math.round(records * RecordBytes / 1e6 / took).toDouble,
      "heap_mb_most"   -> looks.map(_.heap >> 20).max.toDouble,
      "direct_mb_most" -> looks.map(_.direct >> 20).max.toDouble,
      "process_mb"     -> (processPeak >> 10).toDouble
    )
  }

  /** In bytes, after a collection. */
  private final case class Look(heap: Long, direct: Long)

  private object Look {
    def now(): Look = {
      val pools = ManagementFactory.getPlatformMXBeans(classOf[BufferPoolMXBean]).asScala
      Look(
        heap = LiveHeap.bytes(),
        direct = pools.filter(_.getName == "direct").map(_.getMemoryUsed).sum.max(nettyDirect)
      )
    }

    /** Netty may reserve memory past the JVM's count. */
    private def nettyDirect = io.github.kinesisspark.shaded.io.netty.util.internal.PlatformDependent.usedDirectMemory()
  }

  /** In KB. */
  private def processPeak: Long =
    Files
      .readAllLines(Path.of("/proc/self/status"))
      .asScala
      .collectFirst {
        case line if line.startsWith("VmHWM:") => line.filter(_.isDigit).toLong
      }
      .get
}
