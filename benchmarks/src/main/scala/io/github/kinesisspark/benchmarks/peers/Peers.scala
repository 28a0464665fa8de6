package io.github.kinesisspark.benchmarks.peers

import java.io.{FileOutputStream, PrintStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.util.Using
import scala.util.control.NonFatal

import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import io.github.kinesisspark.benchmarks.latency.{Latency, Load, Producer, Quantiles}
import io.github.kinesisspark.benchmarks.{Figure, FullStream, Report, ServerProcess}

/** This connector beside other readers of Kinesis, one after the other, each in a process of its own, on the same servers: how fast it goes through a
  * backlog, at what CPU, and how long records take to it.
  *
  * Prints a JSON line for each figure and adds it to a file. A reader that fails is reported, and the others continue; the program fails at the end. What
  * would begin after `MINUTES` (of the environment) is left out, and reported.
  *
  * {{{ make bench-peers ONLY=connector,flink }}}
  */
object Peers {
  private val Backlog       = FullStream.Stream
  private val BacklogShards = 16
  private val RecordBytes   = 1000
  // More than is read, so that no shard ends before.
  private val BacklogBytes  = 4000000000L
  private val LatencyShards = 4
  private val Warmup        = 20.seconds
  private val Time          = 15.seconds

  /** @param args the file, the directory of the programs, a Python with PySpark, and names of readers if not all are wanted */
  def main(args: Array[String]): Unit = {
    val (file, programs, python) = (Path.of(args(0)), Path.of(args(1)), args(2))
    val only                     = args.drop(3).flatMap(_.split(',')).filter(_.nonEmpty)
    val readers                  = Reader.all.filter(r => only.isEmpty || only.contains(r.name))
    val report                   = new Report(this, only.toSeq, Some(Load.Seed))
    val logs                     = programs.resolve("target")
    val until      = sys.env.get("MINUTES").filter(_.nonEmpty).map(n => System.nanoTime() + n.toLong.minutes.toNanos)
    def isTimeLeft = until.forall(_ - System.nanoTime() > 0)
    Option(file.getParent).foreach(Files.createDirectories(_))
    Using.Manager { use =>
      val out      = use(new PrintStream(new FileOutputStream(file.toFile, true), true, UTF_8))
      val backlog  = use(new ServerProcess(Map(Backlog -> BacklogShards), heap = "10g"))
      val streams  = for (reader <- readers; way <- reader.latencies) yield streamOf(reader, way) -> LatencyShards
      val limited  = use(new ServerProcess(streams.toMap, Seq("--limits")))
      val dynamoDb =
        Option.when(readers.exists(_.hasLeases))(use(new DynamoDbLocal(programs, logs.resolve("dynamodb-local.log"))))
      Using.resource(backlog.client()) { client =>
        val bytes = FullStream.fill(client, RecordBytes, BacklogBytes)
        // The first reader is not to find a server that has just begun.
        FullStream.poll(client, bytes)
        FullStream.subscribe(client, "warm-up", bytes)
      }
      val client = use(limited.client())
      val failed = readers.filterNot { reader =>
        val environment = Map(
          "AWS_ACCESS_KEY_ID"     -> "test",
          "AWS_SECRET_ACCESS_KEY" -> "test",
          "AWS_REGION"            -> backlog.options("region")
        ) ++ dynamoDb.map("AWS_ENDPOINT_URL_DYNAMODB" -> _.endpoint)
        val process =
          new PeerProcess(reader.command(programs, python), environment, logs.resolve(s"${reader.name}.log"))
        val began = System.nanoTime()
        try {
          figures(reader, process, backlog, limited, client, isTimeLeft).foreach(f => report.print(f.json, out))
          true
        } catch {
          case NonFatal(e) =>
            System.err.println(s"${reader.name} failed")
            e.printStackTrace()
            false
        } finally {
          process.close()
          System.err.println(s"${reader.name}: ${(System.nanoTime() - began) / 1000000000L} s")
        }
      }
      if (failed.nonEmpty) throw new IllegalStateException(s"Failed: ${failed.map(_.name).mkString(", ")}")
    }.get
  }

  private def figures(
      reader: Reader,
      process: PeerProcess,
      backlog: ServerProcess,
      limited: ServerProcess,
      client: KinesisAsyncClient,
      isTimeLeft: => Boolean
  ): Iterator[Figure] = {
    val about = process.next("about").str

    def figure(
        way: String,
        what: String,
        values: Seq[Double],
        unit: String,
        method: String,
        facts: Seq[(String, ujson.Value)]
    ) =
      Figure(
        s"peers.${reader.name}.${way.replace(' ', '-')}.$what",
        values,
        unit,
        None,
        method,
        Seq[(String, ujson.Value)]("reader" -> reader.name, "way" -> way, "what" -> what, "about" -> about) ++ facts
      )

    def read[A](way: String, server: ServerProcess, stream: String)(measure: => A): A = {
      process.order("read", way, server.options("endpoint"), arn(server, stream))
      val measured = measure
      process.order("stop")
      measured
    }

    def catchingUp(way: String) = {
      @tailrec def readAgain(before: Vector[CatchUp]): Vector[CatchUp] = {
        val isLast   = before.map(_.bytes).sum >= CatchUp.BytesBefore
        val measured = read(way, backlog, Backlog)(CatchUp.measure(process, backlog))
        process.next("stopped"): Unit
        if (isLast) before :+ measured else readAgain(before :+ measured)
      }
      val rounds        = readAgain(Vector.empty)
      val (first, last) = (rounds.head, rounds.last)
      val cores         = last.parts.map(p => p.serverCpuSeconds / p.seconds)
      val facts         = Seq[(String, ujson.Value)]("server_cores" -> Figure.rounded(Figure.median(cores)))
      Seq(
        figure(way, "throughput", last.parts.map(_.mbPerSecond), "MB/s", CatchUpMethod, facts),
        figure(way, "cpu", last.parts.map(_.cpuPerGb), "CPU s/GB", CatchUpMethod, facts),
        figure(way, "first.throughput", first.parts.map(_.mbPerSecond), "MB/s", FirstMethod, Nil),
        figure(way, "first.cpu", first.parts.map(_.cpuPerGb), "CPU s/GB", FirstMethod, Nil),
        figure(
          way,
          "start",
          Seq(first.startSeconds),
          "s",
          "from the first order to read until the first record, in a process that was ready",
          Nil
        )
      )
    }

    def latency(way: String) = {
      val stream   = streamOf(reader, way)
      val producer = read(way, limited, stream)(produced(process, client, stream))
      val samples  = process.next("samples").arr.map(pair => (pair(0).num.toLong, pair(1).num.toLong))
      process.next("stopped"): Unit
      val counted   = samples.filter { case (put, _) => put - producer.from >= 0 && put - producer.until < 0 }
      val expected  = Latency.held(client, stream, producer.from, producer.until)
      val quantiles = Quantiles(counted.groupMapReduce(_._1)(_._2 / 1e6)(_ min _).values.toArray.sorted)
      val facts     = Seq[(String, ujson.Value)](
        "records"  -> quantiles.count,
        "expected" -> expected,
        "repeated" -> (counted.size - quantiles.count)
      )
      Seq(0.5 -> "p50", 0.99 -> "p99").map { case (share, what) =>
        figure(way, s"latency.$what", Seq(quantiles.at(share)), "ms", LatencyMethod, facts)
      }
    }

    val measurements =
      (reader.latencies ++ reader.catchUps).distinct.flatMap { way =>
        Option.when(reader.catchUps.contains(way))((s"catch-up by $way", () => catchingUp(way))) ++
          Option.when(reader.latencies.contains(way))((s"latency by $way", () => latency(way)))
      }
    measurements.iterator.flatMap { case (name, measure) =>
      if (isTimeLeft) measure()
      else {
        System.err.println(s"${reader.name}, $name left out: no time")
        Nil
      }
    }
  }

  /** The span of time, by `System.nanoTime`, whose records count. */
  private final case class Span(from: Long, until: Long)

  /** Puts records, after the first of which the reader warms up; returns when it has all of them. */
  private def produced(process: PeerProcess, client: KinesisAsyncClient, stream: String): Span = {
    val producer = new Producer(client, stream, Load.Steady)
    try {
      var reported                              = process.next()
      def now                                   = reported("at").num.toLong
      def bytes                                 = reported("bytes").num.toLong
      def awaitUntil(isThere: => Boolean): Unit = while (!isThere) reported = process.next()
      val asked                                 = System.nanoTime()
      awaitUntil(bytes > 0 || now - asked > Patience.toNanos)
      if (bytes == 0) throw new IllegalStateException(s"No record of $stream came within $Patience")
      val from  = now + Warmup.toNanos
      val until = from + Time.toNanos
      awaitUntil(now - until >= 0)
      producer.close()
      var (last, since) = (bytes, now)
      awaitUntil {
        if (bytes != last) { last = bytes; since = now }
        now - since > Quiet.toNanos
      }
      Span(from, until)
    } finally producer.close()
  }

  /** After that much time without another record none is awaited any more. */
  private val Quiet    = 2.seconds
  private val Patience = 120.seconds

  private def streamOf(reader: Reader, way: String) = s"${reader.name}-${way.replace(' ', '-')}"

  private def arn(server: ServerProcess, stream: String) =
    Using.resource(server.client())(
      _.describeStreamSummary(r => r.streamName(stream): Unit).join().streamDescriptionSummary.streamARN
    )

  private val CatchUpMethod =
    s"$BacklogShards shards without quotas with ${BacklogBytes / 1000000} MB in records of $RecordBytes B, from TRIM_HORIZON; the first " +
      s"${CatchUp.WarmBytes / 1000000} MB or ${CatchUp.LongestWarmup.toSeconds} s warm up, and the next ${CatchUp.CountedBytes / 1000000} MB " +
      s"or ${CatchUp.LongestCount.toSeconds} s count, in three parts; the first time that begins when the process has read ${CatchUp.BytesBefore / 1000000} MB in this way; " +
      "a heap of 3 GiB from the start"

  private val FirstMethod = "the same, the first time"

  private val LatencyMethod =
    s"200 records a second over $LatencyShards shards with the service's quotas, one by one, ${Warmup.toSeconds} s of warm-up and " +
      s"${Time.toSeconds} s that count, in the process that read the backlog before"
}
