package io.github.kinesisspark.benchmarks

import java.lang.management.ManagementFactory
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.CompletableFuture

import scala.jdk.CollectionConverters._
import scala.util.Random

import com.sun.management.ThreadMXBean
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.Trigger
import io.github.kinesisspark.shaded.software.amazon.awssdk.core.SdkBytes
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.model._

/** How fast a backlog is read, from its beginning: by a query that drops what it reads (`Trigger.AvailableNow`, noop sink), and by a bare loop
  * of the SDK's calls that counts bytes and keeps nothing. They take turns on one server without quotas, which has a JVM of its own.
  *
  * A JSON line for each run that counts, and one with the medians of the rounds' ratios. CPU is that of this JVM, with
  * compilation and garbage collection; the server's is beside it.
  *
  * {{{ ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.ReadThroughput polling 1000 16 1000" }}}: publisher, bytes of a record,
  * shards, MB in all; after these `tls=true`, and any options of the source, as `readerBufferSize=64m`
  */
object ReadThroughput {
  private[benchmarks] val Stream = "backlog"
  private val Seed               = 16L

  /** Of PutRecords. */
  private val MostBytes   = 4 << 20
  private val MostRecords = 500

  /** @param size of a record, in bytes
    * @param options of the source, beside its own
    */
  final case class Setting(
      publisher: String,
      size: Int,
      shards: Int,
      megabytes: Int,
      isTls: Boolean = false,
      options: Map[String, String] = Map.empty
  )

  /** @param cpu       in seconds, by what it was used for
    * @param server    CPU of the server, in seconds
    * @param gc        seconds of collections
    * @param allocated bytes, by threads that still live
    */
  final case class Run(
      way: String,
      bytes: Long,
      seconds: Double,
      cpu: CpuShares,
      server: Double,
      gc: Double,
      allocated: Long
  ) {
    def mbPerSecond: Double = bytes / 1e6 / seconds
    def cpuPerGb: Double    = cpu.all / (bytes / 1e9)
    def serverCores: Double = server / seconds

    def json: ujson.Obj = ujson.Obj(
      "way"          -> way,
      "seconds"      -> rounded(seconds),
      "mb_per_s"     -> rounded(mbPerSecond),
      "cpu_s_per_gb" -> rounded(cpuPerGb),
      "cpu_s_by"     -> ujson.Obj.from(cpu.byUse.toSeq.sorted.map { case (use, s) => use -> ujson.Num(rounded(s)) }),
      "server_cpu_s" -> rounded(server),
      "collection_s" -> rounded(gc)
    )
  }

  /** Runs of both sides, in their order: those of one round belong together.
    *
    * @param warmup rounds that don't count
    */
  final case class Compared(bytes: Long, warmup: Int, sdk: Seq[Run], connector: Seq[Run])

  def main(args: Array[String]): Unit = {
    val Seq(size, shards, megabytes) = args.toSeq.slice(1, 4).map(_.toInt): @unchecked
    val extra   = args.drop(4).map(_.split("=", 2)).collect { case Array(key, value) => key -> value }.toMap
    val report  = new Report(this, args.toSeq, Some(Seed))
    val setting =
      Setting(args(0), size, shards, megabytes, extra.get("tls").contains("true"), options = extra - "tls")
    val spark = BenchmarkSession.start()
    try {
      val warmup   = Integer.getInteger("warmup", 2).intValue
      val compared = compare(spark, setting, warmup, warmup, Integer.getInteger("rounds", 4))
      for ((sdk, connector) <- compared.sdk.zip(compared.connector); run <- Seq(sdk, connector))
        report.print(described(args, run.json))
      report.print(described(args, summary(compared)))
    } finally spark.stop()
  }

  /** Warms up until both sides are warm, and then measures both in turns. */
  def compare(spark: SparkSession, setting: Setting, leastWarmup: Int, mostWarmup: Int, rounds: Int): Compared = {
    import setting._
    val server =
      new ServerProcess(Map(Stream -> shards), heap = s"${megabytes * 2 / 1000 + 3}g", isTls = isTls)
    val client = server.client()
    try {
      val bytes         = fill(client, size, megabytes * 1000000L)
      def round(n: Int) = {
        val pair = Seq("sdk", "connector").map { way =>
          measured(server, way, bytes) {
            if (way == "connector") drain(spark, server.source(Stream, publisher) ++ options)
            else if (publisher == "polling") poll(client, bytes)
            else subscribe(client, s"sdk-$n", bytes)
          }
        }
        pair.foreach(run => System.err.println(run.json.render()))
        (pair(0), pair(1))
      }
      val warmup = Warmup.until(leastWarmup, mostWarmup)(round) { case (sdk, connector) =>
        Warmup.isOver(sdk.cpu) && Warmup.isOver(connector.cpu)
      }
      val (sdk, connector) = (1 to rounds).map(n => round(warmup + n)).unzip
      Compared(bytes, warmup, sdk, connector)
    } finally {
      client.close()
      server.close()
    }
  }

  private def described(args: Array[String], line: ujson.Obj): ujson.Obj = ujson.Obj.from(
    Seq[(String, ujson.Value)](
      "benchmark"    -> "readThroughput",
      "publisher"    -> args(0),
      "record_bytes" -> args(1).toInt,
      "shards"       -> args(2).toInt
    ) ++ line.value
  )

  private def summary(compared: Compared): ujson.Obj = {
    def ratio(of: Run => Double) =
      rounded(Figure.median(compared.connector.zip(compared.sdk).map { case (a, b) => of(a) / of(b) }))
    ujson.Obj("throughput_to_sdk" -> ratio(_.mbPerSecond), "cpu_to_sdk" -> ratio(_.cpuPerGb))
  }

  private[benchmarks] def measured(server: ServerProcess, way: String, bytes: Long)(read: => Unit): Run = {
    val (cpu, served, gc, made, began) =
      (CpuShares.now(), server.cpuSeconds, gcSeconds, allocated, System.nanoTime())
    read
    Run(
      way,
      bytes,
      (System.nanoTime() - began) / 1e9,
      CpuShares.now().since(cpu),
      server.cpuSeconds - served,
      gcSeconds - gc,
      allocated - made
    )
  }

  private def allocated: Long = {
    val threads = ManagementFactory.getThreadMXBean.asInstanceOf[ThreadMXBean]
    threads.getThreadAllocatedBytes(threads.getAllThreadIds).filter(_ > 0).sum
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

  private def gcSeconds =
    ManagementFactory.getGarbageCollectorMXBeans.asScala.map(_.getCollectionTime).sum / 1e3

  private def rounded(figure: Double) = math.round(figure * 100) / 100.0
}
