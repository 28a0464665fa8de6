package io.github.kinesisspark.benchmarks.latency

import java.nio.file.{Files, Path}

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import io.github.kinesisspark.benchmarks.BenchmarkSession.Master
import io.github.kinesisspark.benchmarks.{BenchmarkSession, Report, ServerProcess}

/** From the call that puts a record to the program that gets it: 200 records a second over four shards, steadily and in bursts at random moments, read by
  * polling and by fan-out, each by the bare SDK and by queries. The embedded server has a JVM of its own; producer, SDK readers and Spark
  * (`local[2]`) share one. Then the same queries on a cluster of two executors, on the same cores. Each reads a stream of its own, for a while to warm up and
  * then for the while that counts.
  *
  * It fails if a measurement has other records than its stream: what came soon must not hide what never came.
  *
  * Beside them: how long a batch of Spark's rate source takes, which has nothing to read and nothing to wait for.
  *
  * {{{ ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.latency.Latency 30 latency.jsonl" }}}, and after that, for some only, `raw`, `micro-batch` or `real-time`
  */
object Latency {
  private val Shards = 4
  private val Warmup = 30.seconds

  /** A stream that nobody reads. */
  private val Unread = "unread"

  /** After that much time without another record none is awaited any more. */
  private val Quiet = 5.seconds

  /** The share of its records that the producer must have put at least. */
  private val EnoughPut = 0.9

  /** Spark's default. Between two batches records wait, so shorter ones would measure that. */
  private val RealTimeBatch = "5 minutes"

  def main(args: Array[String]): Unit = {
    val (time, file) = (args(0).toInt.seconds, Path.of(args(1)))
    // Without the path of the file, which is of this machine alone.
    val report = new Report(this, args(0) +: file.getFileName.toString +: args.drop(2).toSeq, Some(Load.Seed))
    val ways   = Way.all.filter(way => args.drop(2).isEmpty || args.drop(2).contains(way.name))
    def stream(master: Master, load: Load, way: Way) = s"${streamOf(load, way)}-${master.name}"
    val names              = for (master <- Master.both; load <- Load.both; way <- ways) yield stream(master, load, way)
    val server             = new ServerProcess(names.map(_ -> Shards).toMap)
    val client             = server.client()
    def on(master: Master) = {
      val spark = BenchmarkSession.start(master)
      try {
        val measured = for (load <- Load.both; way <- ways if master == Master.Local || way.isQuery) yield {
          val taken = measure(spark, server, client, load, way, stream(master, load, way), Warmup, time)
          print(report, described(master, load, way, taken))
        }
        measured :+ print(report, describedFloor(master, floor(spark, Warmup, time)))
      } finally spark.stop()
    }
    try Files.write(file, Master.both.flatMap(on).asJava): Unit
    finally {
      client.close()
      server.close()
    }
  }

  /** Without what is for pictures alone; the whole line. */
  private def print(report: Report, line: ujson.Obj) = {
    report.print(ujson.Obj.from(line.obj.filter(_._1 != "cdf_ms")))
    report.stamped(line).render()
  }

  /** A micro-batch query and Spark's batches that read nothing, one after the other. The same records are put, which in the second case nobody reads: so
    * server and producer share the machine's cores with Spark in both.
    */
  final case class Turn(microBatch: Quantiles, emptyBatch: Quantiles)

  /** By fan-out, one by one.
    *
    * @param idleBatch one that reads nothing, on an otherwise idle machine
    */
  final case class FanOut(turns: Seq[Turn], realTime: Seq[Quantiles], idleBatch: Seq[Quantiles])

  /** All in turns with each other, because each is quicker the longer Spark's JVM and the server's have run.
    *
    * @param warmup turns that don't count
    * @param rounds of so many turns, and each of the others once
    * @param time how long a turn counts
    * @param realTime how long a turn of real-time mode counts. Several of its records lie beyond the 99.9% quantile
    */
  def fanOut(
      spark: SparkSession,
      warmup: Int,
      rounds: Int,
      turns: Int,
      settling: FiniteDuration,
      time: FiniteDuration,
      realTime: FiniteDuration
  ): FanOut = {
    def of(way: Way, n: Int) = s"${streamOf(Load.Steady, way)}-$n"
    val measured             = warmup + rounds * turns
    val names  = (1 to measured).map(of(Way.MicroFanOut, _)) ++ (1 to rounds).map(of(Way.RealTimeFanOut, _)) :+ Unread
    val server = new ServerProcess(names.map(_ -> Shards).toMap)
    val client = server.client()
    def took(way: Way, n: Int, time: FiniteDuration) =
      measure(spark, server, client, Load.Steady, way, of(way, n), settling, time).quantiles
    def turn(n: Int) = {
      val producer   = new Producer(client, Unread, Load.Steady)
      val emptyBatch =
        try floor(spark, settling, time)
        finally producer.close()
      Turn(took(Way.MicroFanOut, n, time), emptyBatch)
    }
    try {
      (1 to warmup).foreach(turn)
      val all = for (round <- 1 to rounds) yield {
        val some = (1 to turns).map(n => turn(warmup + (round - 1) * turns + n))
        (some, took(Way.RealTimeFanOut, round, realTime), floor(spark, settling, time))
      }
      FanOut(all.flatMap(_._1), all.map(_._2), all.map(_._3))
    } finally {
      client.close()
      server.close()
    }
  }

  private final case class Measured(quantiles: Quantiles, expected: Int)

  private sealed abstract class Way(val name: String, val publisher: String) {
    def isQuery: Boolean = name != "raw"
  }
  private object Way {
    case object RawPolling      extends Way("raw", "polling")
    case object MicroPolling    extends Way("micro-batch", "polling")
    case object RealTimePolling extends Way("real-time", "polling")
    case object RawFanOut       extends Way("raw", "efo")
    case object MicroFanOut     extends Way("micro-batch", "efo")
    case object RealTimeFanOut  extends Way("real-time", "efo")

    val all: Seq[Way] = Seq(RawPolling, MicroPolling, RealTimePolling, RawFanOut, MicroFanOut, RealTimeFanOut)
  }

  private def streamOf(load: Load, way: Way) = s"${load.name}-${way.name}-${way.publisher}"

  private def measure(
      spark: SparkSession,
      server: ServerProcess,
      client: KinesisAsyncClient,
      load: Load,
      way: Way,
      stream: String,
      warmup: FiniteDuration,
      time: FiniteDuration
  ): Measured = {
    val recorder                 = Samples.begin(spark)
    val reader                   = read(spark, server, client, way, stream, recorder)
    val producer                 = new Producer(client, stream, load)
    val (from, until, quantiles) =
      try {
        Thread.sleep(warmup.toMillis)
        val from = System.nanoTime()
        Thread.sleep(time.toMillis)
        val until = System.nanoTime()
        producer.close()
        (from, until, settled(from, until))
      } finally {
        producer.close()
        reader.close()
      }
    val expected = held(client, stream, from, until)
    check(stream, expected, quantiles.count, time / load.every * load.records)
    Measured(quantiles, expected)
  }

  private def described(master: Master, load: Load, way: Way, measured: Measured) = {
    import measured._
    ujson.Obj(
      "benchmark" -> "latency",
      "master"    -> master.name,
      "load"      -> load.name,
      "publisher" -> way.publisher,
      "way"       -> way.name,
      "records"   -> quantiles.count,
      "expected"  -> expected,
      "p50_ms"    -> rounded(quantiles.at(0.5)),
      "p99_ms"    -> rounded(quantiles.at(0.99)),
      "p999_ms"   -> rounded(quantiles.at(0.999)),
      "max_ms"    -> rounded(quantiles.at(1)),
      "cdf_ms"    -> (0 to 1000).map(n => rounded(quantiles.at(n / 1000.0)))
    )
  }

  /** The records put in a span of time, when no further ones come. */
  @tailrec private def settled(from: Long, until: Long): Quantiles = {
    val before = Samples.between(from, until).count
    Thread.sleep(Quiet.toMillis)
    val now = Samples.between(from, until)
    if (now.count == before) now else settled(from, until)
  }

  /** How many records of a span of time are in the stream. Asked when nobody else polls it any more. */
  private[benchmarks] def held(client: KinesisAsyncClient, stream: String, from: Long, until: Long): Int = {
    def isWithin(put: Long)    = put - from >= 0 && put - until < 0
    def answers(shard: String) = Iterator.unfold(Option(Raw.beginning(client, stream, shard)))(_.map { iterator =>
      val answer = client.getRecords(r => r.shardIterator(iterator): Unit).join()
      answer -> Option(answer.nextShardIterator).filter(_ => answer.millisBehindLatest > 0)
    })
    val times =
      Raw
        .shards(client, stream)
        .iterator
        .flatMap(answers)
        .flatMap(_.records.asScala)
        .map(r => Producer.timeOf(r.data.asByteArrayUnsafe))
    times.count(isWithin)
  }

  private def check(stream: String, held: Int, came: Int, planned: Double): Unit = {
    if (held < planned * EnoughPut)
      throw new IllegalStateException(
        s"$stream: $held records were put in the time measured, and not some ${planned.toInt}"
      )
    if (came != held)
      throw new IllegalStateException(
        s"$stream holds $held records of the time measured, and $came of them were received"
      )
  }

  private def read(
      spark: SparkSession,
      server: ServerProcess,
      client: KinesisAsyncClient,
      way: Way,
      stream: String,
      recorder: Samples.Recorder
  ): AutoCloseable = {
    def query(trigger: Trigger): AutoCloseable = {
      val started = Queries.kinesis(spark, server.source(stream, way.publisher), trigger, recorder)
      () => started.stop()
    }
    way match {
      case Way.RawPolling                           => Raw.polling(client, stream)
      case Way.RawFanOut                            => Raw.subscriber(client, stream)
      case Way.MicroPolling | Way.MicroFanOut       => query(Trigger.ProcessingTime(0))
      case Way.RealTimePolling | Way.RealTimeFanOut => query(Trigger.RealTime(RealTimeBatch))
    }
  }

  /** Of batches that read nothing. */
  private def floor(spark: SparkSession, warmup: FiniteDuration, time: FiniteDuration): Quantiles = {
    val query: StreamingQuery = Queries.nothingToRead(spark)
    Thread.sleep(warmup.toMillis)
    val from = Option(query.lastProgress).fold(-1L)(_.batchId)
    Thread.sleep(time.toMillis)
    query.stop()
    val counted = query.recentProgress.filter(_.batchId > from)
    Quantiles(counted.map(_.durationMs.get("triggerExecution").toDouble).sorted)
  }

  private def describedFloor(master: Master, of: Quantiles): ujson.Obj =
    ujson.Obj(
      "benchmark" -> "latency",
      "master"    -> master.name,
      "way"       -> "a batch of Spark's rate source",
      "batches"   -> of.count,
      "p50_ms"    -> of.at(0.5),
      "p99_ms"    -> of.at(0.99)
    )

  private def rounded(millis: Double) = math.round(millis * 100) / 100.0
}
