package io.github.kinesisspark.benchmarks

import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.CompletableFuture

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.Trigger
import io.github.kinesisspark.shaded.software.amazon.awssdk.core.SdkBytes
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.model._

/** A stream without quotas that holds a backlog: how it is filled and read to its end. The server has a JVM of its own.
  *
  * By itself it measures this connector's reader alone, for tuning: a warm query that drops what it reads (`Trigger.AvailableNow`, noop sink). It prints a
  * JSON line for each run that counts. CPU is that of this JVM, with compilation and garbage collection, by what it was used for; the server's is
  * beside it. `make bench-beside-sdk` compares a query with the SDK.
  *
  * {{{ ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.FullStream polling 1000 16 1000" }}}: publisher, bytes of a record,
  * shards, MB in all; after these any options of the source, as `readerBufferSize=64m`
  */
object FullStream {
  private[benchmarks] val Stream = "backlog"
  private val Seed               = 16L

  private val MostWarmup = 10
  private val Rounds     = 4

  /** Of PutRecords. */
  private val MostBytes   = 4 << 20
  private val MostRecords = 500

  /** @param cpu    in seconds, by what it was used for
    * @param server CPU of the server, in seconds
    */
  final case class Run(bytes: Long, seconds: Double, cpu: CpuShares, server: Double) {
    def mbPerSecond: Double = bytes / 1e6 / seconds
    def cpuPerGb: Double    = cpu.all / (bytes / 1e9)

    def json: ujson.Obj = ujson.Obj(
      "seconds"      -> rounded(seconds),
      "mb_per_s"     -> rounded(mbPerSecond),
      "cpu_s_per_gb" -> rounded(cpuPerGb),
      "cpu_s_by"     -> ujson.Obj.from(cpu.byUse.toSeq.sorted.map { case (use, s) => use -> ujson.Num(rounded(s)) }),
      "server_cpu_s" -> rounded(server)
    )
  }

  def main(args: Array[String]): Unit = {
    val publisher                    = args(0)
    val Seq(size, shards, megabytes) = args.toSeq.slice(1, 4).map(_.toInt): @unchecked
    val extra  = args.drop(4).map(_.split("=", 2)).collect { case Array(key, value) => key -> value }.toMap
    val report = new Report(this, args.toSeq, Some(Seed))
    val server = new ServerProcess(Map(Stream -> shards), heap = s"${megabytes * 2 / 1000 + 3}g")
    val client = server.client()
    val spark  = BenchmarkSession.start()
    try {
      val bytes      = fill(client, size, megabytes * 1000000L)
      def run(): Run = measured(server, bytes)(drain(spark, server.source(Stream, publisher) ++ extra))
      Warmup.until(1, MostWarmup)(_ => run())(run => Warmup.isOver(run.cpu)): Unit
      (1 to Rounds).foreach(_ => report.print(run().json))
    } finally {
      spark.stop()
      client.close()
      server.close()
    }
  }

  private[benchmarks] def measured(server: ServerProcess, bytes: Long)(read: => Unit): Run = {
    val (cpu, served, began) = (CpuShares.now(), server.cpuSeconds, System.nanoTime())
    read
    Run(bytes, (System.nanoTime() - began) / 1e9, CpuShares.now().since(cpu), server.cpuSeconds - served)
  }

  private[benchmarks] def drain(spark: SparkSession, source: Map[String, String]): Unit =
    spark.readStream
      .format("kinesis")
      .options(source)
      .load()
      .writeStream
      .trigger(Trigger.AvailableNow)
      .format("noop")
      .start()
      .awaitTermination()

  /** Every shard at once, one call after the other. */
  private[benchmarks] def poll(client: KinesisAsyncClient, bytes: Long): Unit = {
    val left                                            = new AtomicLong(bytes)
    def read(iterator: String): CompletableFuture[Unit] =
      client.getRecords(r => r.shardIterator(iterator): Unit).thenCompose { answer =>
        val taken = answer.records.asScala.iterator.map(_.data.asByteArrayUnsafe.length.toLong).sum
        if (left.addAndGet(-taken) <= 0 || answer.millisBehindLatest == 0) CompletableFuture.completedFuture(())
        else read(answer.nextShardIterator)
      }
    shardIds(client)
      .map { shard =>
        read(
          client
            .getShardIterator(r =>
              r.streamName(Stream).shardId(shard).shardIteratorType(ShardIteratorType.TRIM_HORIZON): Unit
            )
            .join()
            .shardIterator
        )
      }
      .foreach(_.join())
    require(left.get == 0, s"${left.get} bytes were not read")
  }

  private[benchmarks] def subscribe(client: KinesisAsyncClient, consumer: String, bytes: Long): Unit = {
    val left = new AtomicLong(bytes)
    val done = new CompletableFuture[Unit]
    val arn  = client.describeStreamSummary(r => r.streamName(Stream): Unit).join().streamDescriptionSummary.streamARN
    val ours =
      client.registerStreamConsumer(r => r.streamARN(arn).consumerName(consumer): Unit).join().consumer.consumerARN
    def isActive =
      client
        .describeStreamConsumer(r => r.consumerARN(ours): Unit)
        .join()
        .consumerDescription
        .consumerStatus == ConsumerStatus.ACTIVE
    while (!isActive) Thread.sleep(20)
    def seen(event: SubscribeToShardEvent): Unit = {
      val taken = event.records.asScala.iterator.map(_.data.asByteArrayUnsafe.length.toLong).sum
      if (left.addAndGet(-taken) <= 0) done.complete(()): Unit
    }
    val subscriptions = shardIds(client).map { shard =>
      client.subscribeToShard(
        (r: SubscribeToShardRequest.Builder) =>
          r.consumerARN(ours)
            .shardId(shard)
            .startingPosition(p => p.`type`(ShardIteratorType.TRIM_HORIZON): Unit): Unit,
        SubscribeToShardResponseHandler.builder
          .subscriber(
            SubscribeToShardResponseHandler.Visitor.builder.onSubscribeToShardEvent(event => seen(event)).build
          )
          .build
      )
    }
    subscriptions.foreach(
      _.whenComplete((_, error) => if (error != null) done.completeExceptionally(error): Unit): Unit
    )
    done.join()
    subscriptions.foreach(_.cancel(true): Unit)
    client.deregisterStreamConsumer(r => r.consumerARN(ours): Unit).join(): Unit
  }

  private def shardIds(client: KinesisAsyncClient): Vector[String] =
    client.listShards(r => r.streamName(Stream): Unit).join().shards.asScala.map(_.shardId).toVector

  /** How many bytes there are. */
  private[benchmarks] def fill(client: KinesisAsyncClient, size: Int, bytes: Long): Long = {
    val random  = new Random(Seed)
    val data    = SdkBytes.fromByteArrayUnsafe(random.nextBytes(size))
    val records = bytes / size
    val perCall = (MostBytes / size).min(MostRecords).max(1)
    val calls   = (0L until records by perCall.toLong).map(from => (records - from).min(perCall.toLong).toInt)
    calls.grouped(8).foreach { some =>
      some
        .map { n =>
          val entries = Seq.fill(n)(
            PutRecordsRequestEntry.builder.partitionKey(random.nextInt().toString).data(data).build
          )
          client.putRecords(r => r.streamName(Stream).records(entries.asJava): Unit)
        }
        .foreach(_.join(): Unit)
    }
    records * size
  }

  private def rounded(figure: Double) = math.round(figure * 100) / 100.0
}
