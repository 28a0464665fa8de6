package io.github.kinesisspark.it.source

import java.nio.file.{Files, Path}
import java.time.Duration
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.Suites
import org.scalatest.concurrent.ThreadSignaler
import org.scalatest.time.{Seconds, Span}
import software.amazon.awssdk.core.SdkBytes

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.aggregation.{AggregatedRecord, UserRecord}
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.read.coordinator.DriverRuntime
import io.github.kinesisspark.read.realtime.KinesisRealTimeStream
import io.github.kinesisspark.read.stream.SparkHost
import io.github.kinesisspark.read.row.SourceSchema
import io.github.kinesisspark.testkit.{KinesisServerConfig, MovableClock, ServiceClock}

/** Tests queries with Spark's real-time trigger, by polling and by fan-out, on two cores and with four attempts per
  * task.
  */
final class RealTime(clock: MovableClock, override protected val mode: Mode)
    extends TestkitSuite(clock, KinesisServerConfig())
    with CapturedLogs {
  def this(mode: Mode) = this(ServiceClock.shifted(), mode)

  override def suiteName: String = s"Real-time mode by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  override protected def settings: Map[String, String] =
    super.settings + ("spark.sql.streaming.realTimeMode.minBatchDuration" -> "500")

  /** Not the default, so that no listing finds what the parents must report. */
  private val rarely = "shardDiscoveryInterval" -> "1h"

  /** Longer than any test. */
  private val Endless = "1 hour"

  private def startRealTime(frame: DataFrame, at: Path, log: RealTimeLog, lasting: String): StreamingQuery = frame
    .selectExpr("shardId", "sequenceNumber", "cast(data as string)")
    .writeStream
    .outputMode("update")
    .trigger(Trigger.RealTime(lasting))
    .option("checkpointLocation", at.toString)
    .foreach(log.writer)
    .start()

  private def inRealTime[A](frame: DataFrame, at: Path, log: RealTimeLog, lasting: String)(
      body: StreamingQuery => A
  ): A = {
    val query = startRealTime(frame, at, log, lasting)
    try body(query)
    finally query.stop()
  }

  private def isCommitted(at: Path, batch: Long) = Files.exists(at.resolve("commits").resolve(batch.toString))

  /** Until the last rows' batch is committed: a query that is stopped before would return them again. */
  private def awaitCommit(at: Path, log: RealTimeLog): Unit =
    eventually(isCommitted(at, log.rows.map(_.batch).max) shouldBe true): Unit

  private def inOrder(log: RealTimeLog): Unit =
    log.rows.groupBy(_.shardId).values.foreach { rows =>
      rows.map(_.sequenceNumber) shouldBe rows.map(_.sequenceNumber).sorted
    }

  private def open(stream: TestStream) =
    kinesis.streams.shards(stream.name).filter(_.isOpen).sortBy(_.range.start).map(_.id)

  private def merge(stream: TestStream, i: Int): String = {
    val before = open(stream)
    kinesis.streams.merge(stream.name, before(i), before(i + 1))
    open(stream).filterNot(before.contains).head
  }

  describe("a real-time query") {
    it("delivers rows before its batch ends") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new RealTimeLog
      val before = put(stream, "before", 50)
      inRealTime(load(stream), at, log, Endless) { _ =>
        eventually(log.texts.sorted shouldBe before.sorted)
        val after = put(stream, "after", 50)
        eventually(log.texts.sorted shouldBe (before ++ after).sorted)
        // The first batch stored where the query begins.
        log.rows.map(_.batch).toSet shouldBe Set(1)
        isCommitted(at, 0) shouldBe true
        isCommitted(at, 1) shouldBe false
      }
      inOrder(log)
    }

    it("reads all shards with one task per core, each with neighbouring shards") {
      val stream = newStream(shards = 8)
      val log    = new RealTimeLog
      val texts  = put(stream, "r", 400)
      inRealTime(load(stream), checkpoint(), log, Endless)(_ => eventually(log.rows should have size 400))
      log.texts.sorted shouldBe texts.sorted
      log.rows.map(r => r.task -> r.shardId).toSet shouldBe open(stream).zipWithIndex.map { case (id, i) =>
        (i / 4L, id)
      }.toSet
      inOrder(log)
    }

    it("delivers each row once across batches and restarts") {
      val stream = newStream(shards = 3)
      val at     = checkpoint()
      val log    = new RealTimeLog
      val texts  = (1 to 3).flatMap { round =>
        val down = put(stream, s"down-$round", 40)
        inRealTime(load(stream), at, log, "2 seconds") { _ =>
          val up = (1 to 4).flatMap { i =>
            val some = put(stream, s"up-$round-$i", 25)
            eventually(log.texts should contain allElementsOf some)
            awaitCommit(at, log)
            some
          }
          down ++ up
        }
      }
      log.texts.sorted shouldBe texts.sorted
      inOrder(log)
    }

    it("at LATEST starts at its first start, also if that run ended before it read anything") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new RealTimeLog
      put(stream, "past", 20)
      // LATEST is a whole second of the service's clock.
      serverClock.advance(Duration.ofSeconds(2))
      val latest = load(stream, "startingPosition" -> "LATEST")
      val stores = startRealTime(latest, at, log, Endless)
      eventually(isCommitted(at, 0) shouldBe true)
      stores.stop()
      val missed = put(stream, "missed", 20)
      inRealTime(latest, at, log, Endless)(_ => eventually(log.texts.sorted shouldBe missed.sorted))
    }

    it("shares a checkpoint with micro-batches in turn, and delivers each row once") {
      val stream  = newStream(shards = 3)
      val at      = checkpoint()
      val batches = new BatchLog
      val log     = new RealTimeLog
      val texts   = (1 to 6).flatMap { round =>
        val down = put(stream, s"down-$round", 30)
        val up   = if (round % 2 == 1) running(load(stream), at)(batches.add) { _ =>
          eventually(batches.texts should contain allElementsOf down)
          val some = put(stream, s"up-$round", 30)
          eventually(batches.texts should contain allElementsOf some)
          awaitCommit(at, batches)
          some
        }
        else
          inRealTime(load(stream), at, log, "2 seconds") { _ =>
            eventually(log.texts should contain allElementsOf down)
            val some = put(stream, s"up-$round", 30)
            eventually(log.texts should contain allElementsOf some)
            awaitCommit(at, log)
            some
          }
        down ++ up
      }
      (batches.texts ++ log.texts).sorted shouldBe texts.sorted
    }

    it("continues within an aggregated record after a batch that ended in it, as do micro-batches") {
      val stream = newStream(shards = 1)
      val at     = checkpoint()
      // Longer than a batch.
      val log     = new RealTimeLog(_ => Thread.sleep(8))
      val batches = new BatchLog
      val users   = (0 until 1000).map(i => s"user-$i")
      val payload =
        users.foldLeft(new AggregatedRecord[UserRecord])((all, u) => all.add(UserRecord(u.getBytes, "key"))).payload
      service.call(_.putRecord(r => r.streamName(stream.name).partitionKey("a").data(SdkBytes.fromByteArray(payload))))
      inRealTime(load(stream), at, log, "2 seconds") { _ =>
        eventually(log.rows.size should be >= users.size)
        awaitCommit(at, log)
      }
      log.texts shouldBe users
      log.rows.map(_.batch).distinct.size should be > 2
      // As if the commit of the second of them had been lost.
      val second = log.rows.map(_.batch).distinct.apply(1)
      eraseCommit(at, second)
      logEntries(at.resolve("offsets"), second + 1).foreach(Files.delete)
      running(load(stream), at)(batches.add)(_ =>
        eventually(log.rows.filter(_.batch < second).map(_.text) ++ batches.texts shouldBe users)
      )
      batches.all.toMap.apply(second).map(_.text) shouldBe log.rows.filter(_.batch == second).map(_.text)
    }
  }

  describe("a reshard within a real-time batch") {
    it("is followed at once if one task reads all parents, through splits, merges and chains of both") {
      val stream = newStream(shards = 4)
      val log    = new RealTimeLog
      inRealTime(load(stream, rarely), checkpoint(), log, Endless) { _ =>
        def assertRead(name: String) = {
          val texts = put(stream, name, 60)
          withClue(s"$name: ")(eventually(log.texts should contain allElementsOf texts))
        }
        assertRead("before")
        kinesis.streams.split(stream.name, open(stream).head)
        assertRead("split")
        // The first task reads what is now the first three.
        merge(stream, 1)
        assertRead("merge of a half and its neighbour")
        kinesis.streams.split(stream.name, open(stream).last)
        kinesis.streams.split(stream.name, open(stream).last)
        assertRead("split of a split")
      }
      log.rows.map(_.batch).toSet shouldBe Set(1)
      log.texts.distinct should have size log.rows.size.toLong
      parentsComeFirst(stream, log.rows.map(_.shardId))
    }

    it("is followed in the next batch if two tasks read the parents") {
      val stream = newStream(shards = 4)
      val at     = checkpoint()
      val log    = new RealTimeLog
      inRealTime(load(stream, rarely), at, log, "3 seconds") { _ =>
        val before = put(stream, "before", 60)
        eventually(log.texts.sorted shouldBe before.sorted)
        val listed = kinesis.calls.count("ListShards", stream.name)
        val child  = merge(stream, 1)
        val after  = put(stream, "after", 60)
        eventually(log.texts.sorted shouldBe (before ++ after).sorted)
        kinesis.calls.count("ListShards", stream.name) shouldBe listed
        val parents = kinesis.streams.shards(stream.name).find(_.id == child).get.parents
        val of      = log.rows.groupMap(_.shardId)(_.batch)
        of(child).min should be > parents.flatMap(of(_)).max
        awaitCommit(at, log)
      }
      inOrder(log)
    }

    it("leaves an offset from which micro-batches and real-time batches continue") {
      val stream  = newStream(shards = 2)
      val at      = checkpoint()
      val batches = new BatchLog
      val log     = new RealTimeLog
      val first   = inRealTime(load(stream, rarely), at, log, "2 seconds") { _ =>
        val before = put(stream, "before", 30)
        eventually(log.texts should contain allElementsOf before)
        kinesis.streams.split(stream.name, open(stream).head)
        val after = put(stream, "after", 30)
        eventually(log.texts should contain allElementsOf after)
        awaitCommit(at, log)
        before ++ after
      }
      val down   = put(stream, "down", 30)
      val second = running(load(stream, rarely), at)(batches.add) { _ =>
        eventually(batches.texts should contain allElementsOf down)
        awaitCommit(at, batches)
        down
      }
      val third = put(stream, "again", 30)
      inRealTime(load(stream, rarely), at, log, "2 seconds") { _ =>
        eventually(log.texts should contain allElementsOf third)
      }
      (log.texts ++ batches.texts).sorted shouldBe (first ++ second ++ third).sorted
    }
  }

  describe("a failure within a real-time batch") {
    it("of one task repeats that task from its start, and loses no record") {
      val stream   = newStream(shards = 2)
      val at       = checkpoint()
      val failures = new AtomicInteger
      val log      =
        new RealTimeLog(row => if (row.text == "bad-0" && failures.getAndIncrement() == 0) sys.error("as planned"))
      inRealTime(load(stream), at, log, Endless) { _ =>
        val good = put(stream, "good", 100)
        eventually(log.texts should contain allElementsOf good)
        put(stream, "bad", 1)
        eventually(failures.get shouldBe 2)
        val after = put(stream, "after", 100)
        eventually(log.texts should contain allElementsOf after)
      }
      val failed   = log.rows.filter(_.text == "bad-0").head
      val (a, b)   = log.rows.filter(_.task == failed.task).partition(_.attempt == failed.attempt)
      val attempts = (a.map(_.text), b.map(_.text))
      attempts._2.take(attempts._1.size) shouldBe attempts._1
      // The other task did not notice.
      val others = log.rows.filter(_.task != failed.task).map(_.text)
      others.distinct shouldBe others
    }

    it("that ends the query repeats its batch at the next start") {
      val stream  = newStream(shards = 2)
      val at      = checkpoint()
      val refused = new RealTimeLog(row => if (row.text.startsWith("bad")) sys.error("as planned"))
      val first   = put(stream, "first", 40)
      val query   = startRealTime(load(stream), at, refused, "2 seconds")
      eventually(refused.texts should contain allElementsOf first)
      awaitCommit(at, refused)
      val bad = put(stream, "bad", 10)
      failureOf(query): Unit
      val log = new RealTimeLog
      inRealTime(load(stream), at, log, Endless)(_ => eventually(log.texts.sorted shouldBe bad.sorted))
    }
  }

  it("processAllAvailable() returns in real-time mode once all records were handed on") {
    val stream = newStream(shards = 2)
    val log    = new RealTimeLog
    val at     = checkpoint()
    inRealTime(load(stream), at, log, "1 second") { query =>
      eventually(isCommitted(at, 0) shouldBe true)
      val texts = put(stream, "r", 10)
      failAfter(Span(240, Seconds))(query.processAllAvailable())(ThreadSignaler)
      log.texts.sorted shouldBe texts.sorted
    }
  }

  it("a real-time query whose tasks fail when each batch ends says so, and not that cores are missing alone") {
    val stream = newStream(shards = 1)
    put(stream, "r", 1)
    // In each batch: a second attempt subscribes anew, which is refused for five seconds.
    val fails      = new RealTimeLog(atEnd = hasRows => if (hasRows) sys.error("as planned"))
    val (_, lines) = withLogs {
      val query = startRealTime(load(stream), checkpoint(), fails, "7 seconds")
      failureOf(query).getMessage should include("the errors of their first attempts are in the driver's log")
    }
    val repeated = "1 of the batch's 1 tasks read nothing before it was over: 1 ran again".r
    repeated.findAllIn(lines).size should be >= 3
  }

  it("a real-time query with too few cores for all sources fails with KINESIS_TOO_FEW_CORES") {
    val streams = Seq(newStream(shards = 2), newStream(shards = 2))
    val frame   = streams.map(load(_)).reduce(_ union _)
    val query   = startRealTime(frame, checkpoint(), new RealTimeLog, "1 second")
    failureOf(query).getMessage should include("KINESIS_TOO_FEW_CORES")
  }

  it("a real-time query writes to Kinesis during its batch if Spark's sink allowlist is off") {
    val source = newStream(shards = 2)
    val target = newStream(shards = 2)
    val query  = load(source)
      .selectExpr("data", "partitionKey")
      .writeStream
      .format("kinesis")
      .options(options(target))
      .outputMode("update")
      .trigger(Trigger.RealTime(Endless))
      .option("checkpointLocation", checkpoint().toString)
    intercept[Exception](query.start()).getMessage should include("OPERATOR_OR_SINK_NOT_IN_ALLOWLIST")
    spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
    val running = query.start()
    try
      for (round <- 1 to 3) {
        val texts = put(source, s"r-$round", 50)
        eventually {
          val written = target.shards().flatMap(shard => target.texts(target.trimHorizon(shard.shardId)))
          written.filter(_.startsWith(s"r-$round-")).sorted shouldBe texts.sorted
        }
      }
    finally {
      running.stop()
      spark.conf.unset("spark.sql.streaming.realTimeMode.allowlistCheck")
    }
  }

  it("a real-time query reports the arrival time of each row to Spark") {
    val stream = newStream(shards = 1)
    val source = new KinesisRealTimeStream(
      SourceOptions.parse(options(stream) ++ mode.options),
      new SparkHost(spark.sparkContext),
      DriverRuntime.ofJvm
    )
    try {
      source.prepareForRealTimeMode()
      // The first batch has one task without a shard: a stage behind a shuffle needs one.
      val first = source.planInputPartitions(source.initialOffset())
      first should have size 1
      val empty = source.createReaderFactory().createReader(first.head).asInstanceOf[SupportsRealTimeRead[InternalRow]]
      empty.nextWithTimeout(System.currentTimeMillis(), patienceConfig.timeout.toMillis).hasRecord shouldBe false
      val begun = source.mergeOffsets(Array(empty.getOffset))
      put(stream, "r", 3)
      val tasks  = source.planInputPartitions(begun)
      val reader = source.createReaderFactory().createReader(tasks.head).asInstanceOf[SupportsRealTimeRead[InternalRow]]
      try {
        def next()  = reader.nextWithTimeout(System.currentTimeMillis(), patienceConfig.timeout.toMillis)
        val arrived = SourceSchema.schema.fieldIndex("approximateArrivalTimestamp")
        for (_ <- 1 to 3) {
          val status = next()
          status.hasRecord shouldBe true
          status.recArrivalTime.get.longValue * 1000 shouldBe reader.get().getLong(arrived)
        }
        reader.nextWithTimeout(System.currentTimeMillis(), 1L).hasRecord shouldBe false
      } finally reader.close()
    } finally source.stop()
  }

  it("a real-time query reports the source's metrics and its end offset") {
    val stream = newStream(shards = 2)
    val log    = new RealTimeLog
    inRealTime(load(stream), checkpoint(), log, "2 seconds") { query =>
      put(stream, "r", 100)
      eventually {
        val progress = query.recentProgress.filter(_.numInputRows > 0)
        progress.map(_.sources.head.metrics.get("records").toLong).sum shouldBe 100
        progress.last.sources.head.metrics.get("shardsOpen") shouldBe "2"
        progress.last.sources.head.endOffset should include("completeTo")
      }
    }
  }
}

class RealTimeSpec extends Suites(Passes.modes(Mode.FanOut)(new RealTime(_)): _*)
