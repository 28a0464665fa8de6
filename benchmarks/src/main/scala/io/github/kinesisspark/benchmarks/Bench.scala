package io.github.kinesisspark.benchmarks

import java.io.{FileOutputStream, PrintStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.Random
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import io.github.kinesisspark.shaded.software.amazon.awssdk.core.SdkBytes
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.model.Record

import io.github.kinesisspark.benchmarks.BenchmarkSession.Master
import io.github.kinesisspark.benchmarks.latency.Latency
import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.read.reader.{KinesisRecord, RecordTotals}

/** All measurements that releases are compared by, one after the other in one JVM, those on a cluster of executors last: prints a JSON line for each figure
  * and adds it to a file.
  *
  * A measurement that fails is reported, and the others continue; the program fails at the end. Those that would begin after `MINUTES` (of the environment) are left out, and
  * reported.
  *
  * {{{ ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.Bench results.jsonl planning,memory" }}}: the file, and parts of the names of the
  * measurements that are wanted, if not all
  */
object Bench {
  private val Seed = 16L

  private final case class Measurement(
      name: String,
      figures: SparkSession => Seq[Figure],
      master: Master = Master.Local
  )

  def main(args: Array[String]): Unit = {
    val file   = Path.of(args(0))
    val only   = args.drop(1).flatMap(_.split(',')).filter(_.nonEmpty)
    val report = new Report(this, file.getFileName.toString +: args.drop(1).toSeq, Some(Seed))
    Option(file.getParent).foreach(Files.createDirectories(_))
    val until = sys.env.get("MINUTES").filter(_.nonEmpty).map(n => System.nanoTime() + n.toLong * 60000000000L)
    val out   = new PrintStream(new FileOutputStream(file.toFile, true), true, UTF_8)
    def measured(measurement: Measurement, spark: SparkSession): Boolean = {
      val began = System.nanoTime()
      try {
        measurement.figures(spark).foreach(figure => report.print(figure.json, out))
        System.err.println(s"${measurement.name}: ${(System.nanoTime() - began) / 1000000000L} s")
        true
      } catch {
        case NonFatal(e) =>
          System.err.println(s"${measurement.name} failed")
          e.printStackTrace()
          false
      }
    }
    def failedOf(some: Seq[Measurement], spark: SparkSession) = some.filterNot { measurement =>
      val isLate = until.exists(_ - System.nanoTime() < 0)
      if (isLate) System.err.println(s"${measurement.name} left out: no time")
      isLate || measured(measurement, spark)
    }
    try {
      val wanted = all.filter(m => only.isEmpty || only.exists(m.name.contains))
      val failed = Master.both.flatMap { master =>
        val some = wanted.filter(_.master == master)
        if (some.isEmpty) Nil
        else {
          val spark = BenchmarkSession.start(master)
          try failedOf(some, spark)
          finally spark.stop()
        }
      }
      if (failed.nonEmpty) throw new IllegalStateException(s"Failed: ${failed.map(_.name).mkString(", ")}")
    } finally out.close()
  }

  /** The most important first. */
  private def all: Seq[Measurement] =
    Seq(
      Measurement("planning", _ => planning),
      latency("latency", warmup = 2),
      Measurement("memory", _ => memory),
      Measurement("cost", Costs.figures),
      Measurement("buffer", Buffers.figures),
      Measurement("transport", _ => Transport.figures()),
      // Executors are new JVMs.
      latency("cluster.latency", warmup = 10, Master.Cluster)
    )

  private def planning: Seq[Figure] = Seq(1000 -> None, 10000 -> Some(Goal(150))).map { case (shards, goal) =>
    Figure(
      s"planning.${shards}shards",
      PlanningScale.totals(shards),
      "ms",
      goal,
      "the driver's own work for one batch, all shards assigned anew; 30 rounds of warm-up"
    )
  }

  /** Records that are packed, as buffers hold them. */
  private def memory: Seq[Figure] = Seq(100, 1000).flatMap { size =>
    val random  = new Random(Seed)
    val records = (1 to (4 << 20) / size).map { n =>
      Record.builder
        .data(SdkBytes.fromByteArrayUnsafe(random.nextBytes(size)))
        .partitionKey(random.nextInt().toString)
        .sequenceNumber((BigInt(10).pow(55) + n).toString)
        .approximateArrivalTimestamp(java.time.Instant.EPOCH)
        .build
    }.asJava
    val rounds = (1 to 3).map { _ =>
      val before = LiveHeap.bytes()
      val held   = Vector.fill(16)(KinesisRecord.after(TrimHorizon, records))
      val taken  = (LiveHeap.bytes() - before).toDouble
      val count  = held.map(RecordTotals.of(_).heap).sum
      (taken / held.map(RecordTotals.of(_).bytes).sum, taken / count)
    }
    def figure(what: String, values: Seq[Double], method: String) =
      Figure(s"memory.${size}B.$what", values, "ratio", None, method)
    Seq(
      figure(
        "heap_of_data",
        rounds.map(_._1),
        "heap of 64 MiB of buffered records, to the bytes of their data and keys"
      ),
      figure("heap_of_counted", rounds.map(_._2), "the same, to what the memory budget counts for them")
    )
  }

  /** @param warmup turns until a batch hardly gets quicker from turn to turn */
  private def latency(name: String, warmup: Int, master: Master = Master.Local) =
    Measurement(name, latencies(name, warmup, _), master)

  private def latencies(prefix: String, warmup: Int, spark: SparkSession): Seq[Figure] = {
    val (settling, time, realTime)   = (5.seconds, 12.seconds, 40.seconds)
    val measured                     = Latency.fanOut(spark, warmup, rounds = 3, turns = 3, settling, time, realTime)
    def load(counts: FiniteDuration) =
      s"200 records a second over four shards, one by one, ${settling.toSeconds} s to settle and ${counts.toSeconds} s that count"
    val put          = load(time)
    val warm         = s"$warmup turns of warm-up"
    val empty        = "a batch of Spark's rate source"
    val emptyBatches = measured.turns.map(_.emptyBatch.at(0.5))
    val idleBatches  = measured.idleBatch.map(_.at(0.5))
    val idle         = Figure.median(idleBatches)
    def figure(name: String, values: Seq[Double], method: String, goal: Option[Goal] = None) =
      Figure(s"$prefix.$name", values, "ms", goal, method)
    Seq(
      figure("efo.real-time.p50", measured.realTime.map(_.at(0.5)), load(realTime)),
      figure("efo.real-time.p999", measured.realTime.map(_.at(0.999)), load(realTime), Some(Goal(25))),
      figure("efo.micro-batch.p50", measured.turns.map(_.microBatch.at(0.5)), s"$put; $warm"),
      figure(
        "efo.micro-batch.p50_beyond_empty_batch",
        measured.turns.map(turn => turn.microBatch.at(0.5) - turn.emptyBatch.at(0.5)),
        s"$put; in turns with $empty while the same records are put and nobody reads them, whose median is taken off; $warm",
        Some(Goal(20))
      ),
      figure(
        "efo.micro-batch.p50_beyond_idle_empty_batch",
        measured.turns.map(_.microBatch.at(0.5) - idle),
        s"$put; the median of $empty while nothing else runs is taken off; $warm"
      ),
      figure(
        "empty_batch",
        emptyBatches,
        s"$empty while the same records are put and nobody reads them; medians of ${time.toSeconds} s"
      ),
      figure("idle_empty_batch", idleBatches, s"$empty while nothing else runs; medians of ${time.toSeconds} s")
    )
  }
}
