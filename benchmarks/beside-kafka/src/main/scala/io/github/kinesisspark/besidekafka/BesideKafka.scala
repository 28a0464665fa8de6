package io.github.kinesisspark.besidekafka

import java.io.{BufferedReader, InputStreamReader}
import java.nio.file.Files

import scala.collection.mutable
import scala.concurrent.duration._
import scala.util.{Random, Using}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

/** Real-time queries from Kafka to Kafka, and from Kinesis to Kinesis: how long a record takes from its arrival in one log to that of its result in the other.
  *
  * 1,000 records a second come, ten at a time, a tenth of them repeats. Each server has a JVM, and times are by its clock. One JSON line for each workload
  * and each of both, which take turns.
  *
  * Arguments: the JAR of the local server of Kinesis, seconds to warm up, seconds that count, and part of a workload's name.
  */
object BesideKafka {
  private val Tick     = 10.millis
  private val PerTick  = 10
  private val Repeated = 0.1

  /** Of earlier numbers that come again. */
  private val Lately   = 1000
  private val Seed     = 1L
  private val Patience = 60.seconds

  def main(args: Array[String]): Unit = {
    val Array(server, warmUp, counted, only) = args.padTo(4, ""): @unchecked
    Using.Manager { use =>
      val java     = ProcessHandle.current.info.command.get
      val classes  = sys.props("java.class.path")
      val log      = Files.createTempDirectory("kafka-").toString
      val broker   = use(new Child(Seq(java, "-Xmx1g", "-cp", classes, Broker.getClass.getName.stripSuffix("$"), log)))
      val local    = use(new Child(Seq(java, "-Xmx1g", "-jar", server, "--exit-with-stdin")))
      val carriers = Seq(use(new Kafka(broker.said("address"))), use(new Kinesis(local.said("endpoint"))))
      val spark    = use(session())
      for (workload <- Workload.all if workload.name.contains(only); carrier <- carriers)
        println(s"measured: ${measure(spark, workload, carrier, warmUp.toInt.seconds, counted.toInt.seconds).render()}")
    }.get
  }

  /** Each of four parts has a task that reads, two keep state, and two look at what has come. */
  private def session() = SparkSession
    .builder()
    .master(s"local[${Carrier.Parts + 4}]")
    .config("spark.ui.enabled", "false")
    .config("spark.log.level", "ERROR")
    .config("spark.sql.shuffle.partitions", "2")
    .config(
      "spark.sql.streaming.stateStore.providerClass",
      "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
    .config("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
    // It has no sink but Spark's own.
    .config("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
    .getOrCreate()

  private def measure(
      spark: SparkSession,
      workload: Workload,
      carrier: Carrier,
      warmUp: FiniteDuration,
      counted: FiniteDuration
  ): ujson.Obj = {
    def log(which: String) = s"${workload.name.replace(' ', '-')}-$which"
    val (from, to)         = (log("in"), log("out"))
    Seq(from, to).foreach(carrier.create)
    val checkpoint = Files.createTempDirectory("checkpoint-").toString
    val query      = carrier
      .sink(workload.run(carrier.source(spark, from)), to)
      .outputMode("update")
      .option("checkpointLocation", checkpoint)
      .trigger(Trigger.RealTime("5 minutes"))
      .start()
    val numbers = new Numbers
    // Until the query runs, and then until it is warm.
    put(carrier, from, numbers, 1.second)
    eventually(query)(carrier.content(spark, to).limit(1).count() > 0)
    put(carrier, from, numbers, warmUp)
    val first = numbers.next
    put(carrier, from, numbers, counted)
    val last = numbers.next
    // What comes after them pushes out what would wait for company.
    put(carrier, from, numbers, 1.second)
    eventually(query)(arrivals(spark, carrier, to).keySet.contains(numbers.next - 1))
    query.stop()
    val came              = arrivals(spark, carrier, from)
    val out               = arrivals(spark, carrier, to)
    val after             = results(out)
    val delays            = (first until last).flatMap(n => after.get(n).map(_ - came(n))).sorted
    def at(share: Double) = delays(((delays.size - 1) * share).round.toInt)
    ujson.Obj(
      "workload" -> workload.name,
      "of"       -> carrier.name,
      "records"  -> delays.size,
      "missing"  -> (last - first - delays.size).toInt,
      "alone"    -> (first until last).count(out.contains),
      "p50"      -> at(0.5),
      "p99"      -> at(0.99),
      "p99.9"    -> at(0.999),
      "spark"    -> spark.version
    )
  }

  /** The first arrival of each number, in ms. */
  private def arrivals(spark: SparkSession, carrier: Carrier, log: String): Map[Long, Double] =
    carrier
      .content(spark, log)
      .selectExpr("CAST(text AS BIGINT)", "unix_micros(arrived) / 1000.0D")
      .collect()
      .groupMapReduce(_.getLong(0))(_.getDouble(1))(_ min _)

  /** When the first result of each number came: its own, or that of a later one with its key. */
  private def results(out: Map[Long, Double]): Map[Long, Double] =
    out.keys.groupBy(_ % Workload.Keys).flatMap { case (_, ofKey) =>
      val descending = ofKey.toVector.sorted.reverse
      var earliest   = Double.MaxValue
      val least      = mutable.Map.empty[Long, Double]
      (descending.head to descending.last by -Workload.Keys.toLong).foreach { n =>
        out.get(n).foreach(at => earliest = earliest.min(at))
        least(n) = earliest
      }
      least
    }

  /** Numbers one after the other, and some again. */
  private final class Numbers {
    private val random = new Random(Seed)
    var next           = 0L

    def take(): Long =
      if (next > Lately && random.nextDouble() < Repeated) next - 1 - random.nextInt(Lately)
      else {
        next += 1
        next - 1
      }
  }

  private def put(carrier: Carrier, log: String, numbers: Numbers, time: FiniteDuration): Unit = {
    val began = System.nanoTime()
    for (tick <- 0L until time.toMillis / Tick.toMillis) {
      val wait = began + tick * Tick.toNanos - System.nanoTime()
      if (wait > 0) NANOSECONDS.sleep(wait)
      carrier.put(log, Seq.fill(PerTick)(numbers.take()).map(n => (Workload.keyOf(n), n.toString)))
    }
  }

  private def eventually(query: StreamingQuery)(holds: => Boolean): Unit = {
    val until = Patience.fromNow
    while (!holds) {
      query.exception.foreach(throw _)
      if (until.isOverdue()) throw new IllegalStateException(s"Nothing came within $Patience")
      SECONDS.sleep(1)
    }
  }

  /** A process whose first line of output is JSON, and which ends when its standard input does. */
  private final class Child(command: Seq[String]) extends AutoCloseable {
    private val process = new ProcessBuilder(command: _*).redirectError(ProcessBuilder.Redirect.DISCARD).start()
    private val out     = new BufferedReader(new InputStreamReader(process.getInputStream))

    private val line = Iterator
      .continually(out.readLine())
      .map(line => Option(line).getOrElse(throw new IllegalStateException(s"${command.last} has ended")))
      .find(_.startsWith("{"))
      .get

    {
      // Nobody waits for what it says later.
      val rest = new Thread(() => while (out.readLine() != null) {})
      rest.setDaemon(true)
      rest.start()
    }

    def said(key: String): String = ujson.read(line)(key).str

    override def close(): Unit = {
      process.getOutputStream.close()
      process.waitFor(): Unit
    }
  }
}
