package io.github.kinesisspark.it.source

import java.time.Instant
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.Suites

import io.github.kinesisspark.StreamPositions
import io.github.kinesisspark.it.{KinesisTarget, Patience, TestStream}
import io.github.kinesisspark.position.OffsetJson

/** Reads ranges of streams by batch reads, AvailableNow and Trigger.Once, on every server, by polling and by fan-
  * out.
  */
final class BatchScenarios(target: KinesisTarget, override protected val mode: Mode)
    extends SourceSuite(target.service) {
  override def suiteName: String = s"Batches on $target by $mode"
  override def suiteId: String   = s"${getClass.getName}-$target-$mode"

  private def backfill(stream: TestStream, more: (String, String)*): DataFrame =
    spark.read.format("kinesis").options(options(stream) ++ mode.batchOptions ++ more).load()

  /** What has nothing to do with how records come; one subscription must follow the other only after five seconds. */
  private def byPolling(text: String)(body: => Unit): Unit = if (mode == Mode.Polling) it(text)(body)

  private def now(stream: TestStream): String = OffsetJson.write(StreamPositions.latest(options(stream)))

  private def split(stream: TestStream): Unit = {
    val before = stream.openShards()
    stream.split(before.head)
    awaitOpen(stream, before.size + 1): Unit
  }

  /** A whole second, because LATEST is one, and one of the servers drops the milliseconds of a time. */
  private def pause(): Unit = {
    val t = System.currentTimeMillis()
    eventually(System.currentTimeMillis() should be > t + 2100): Unit
  }

  private def runOnce(frame: DataFrame, at: java.nio.file.Path, trigger: Trigger)(
      use: (DataFrame, Long) => Unit
  ): Unit = ended(frame, at, trigger)(use): Unit

  private def ended(frame: DataFrame, at: java.nio.file.Path, trigger: Trigger)(
      use: (DataFrame, Long) => Unit
  ): StreamingQuery = {
    val query = start(frame, at, trigger)(use)
    withClue("the query should have ended by itself: ")(
      query.awaitTermination(Patience.emulator.atMost.millisPart) shouldBe true
    )
    query
  }

  describe("a batch read") {

    it("reads the records present at the first use of its DataFrame, and the same in every action") {
      val stream = newStream(shards = 3)
      val first  = put(stream, "first", 700)
      val frame  = backfill(stream)
      frame.count() shouldBe first.size
      put(stream, "second", 200)
      texts(frame).sorted shouldBe first.sorted
      frame.count() shouldBe first.size
      frame.as("a").join(frame.as("b"), "sequenceNumber").count() should be >= first.size.toLong
      backfill(stream).count() shouldBe first.size + 200
    }

    byPolling(
      "between two positions reads exactly the records in between, and adjacent ranges are disjoint"
    ) {
      val stream = newStream(shards = 2)
      val first  = put(stream, "a", 300)
      val middle = now(stream)
      val second = put(stream, "b", 300)
      val end    = now(stream)
      put(stream, "c", 50)
      texts(backfill(stream, "endingPosition" -> middle)).sorted shouldBe first.sorted
      texts(backfill(stream, "startingPosition" -> middle, "endingPosition" -> end)).sorted shouldBe second.sorted
      texts(backfill(stream, "startingPosition" -> end)).size shouldBe 50
      texts(backfill(stream, "startingPosition" -> end, "endingPosition" -> end)) shouldBe empty
    }

    byPolling("between two timestamps reads exactly the records in between") {
      val stream = newStream(shards = 2)
      val first  = put(stream, "a", 100)
      pause()
      val noon = Instant.ofEpochMilli(System.currentTimeMillis() / 1000 * 1000)
      pause()
      val second = put(stream, "b", 100)
      texts(backfill(stream, "endingPosition" -> s"AT_TIMESTAMP:$noon")).sorted shouldBe first.sorted
      texts(backfill(stream, "startingPosition" -> s"AT_TIMESTAMP:$noon")).sorted shouldBe second.sorted
    }

    it("reads across reshards up to any cut of positions") {
      val stream = newStream(shards = 2)
      val first  = put(stream, "a", 200)
      val early  = now(stream)
      split(stream)
      val second = put(stream, "b", 200)
      val late   = now(stream)
      split(stream)
      val third = put(stream, "c", 200)
      texts(backfill(stream)).sorted shouldBe (first ++ second ++ third).sorted
      texts(backfill(stream, "startingPosition" -> early, "endingPosition" -> late)).sorted shouldBe second.sorted
      texts(backfill(stream, "startingPosition" -> late)).sorted shouldBe third.sorted
      texts(backfill(stream, "endingPosition" -> early)).sorted shouldBe first.sorted
    }

    byPolling("has at most one task per shard, and more with minPartitions") {
      val stream = newStream(shards = 2)
      val all    = (0 until 4).flatMap { i =>
        val texts = put(stream, s"p$i", 100)
        val t     = System.currentTimeMillis()
        eventually(System.currentTimeMillis() should be > t + 1100)
        texts
      }
      backfill(stream).rdd.getNumPartitions should be <= 2
      val frame = backfill(stream, "minPartitions" -> "6")
      frame.rdd.getNumPartitions should be > 2
      texts(frame).sorted shouldBe all.sorted
    }

    it("of an empty stream, or from its current end, has no rows") {
      val stream = newStream(shards = 2)
      backfill(stream).count() shouldBe 0
      put(stream, "a", 10)
      backfill(stream, "startingPosition" -> now(stream)).count() shouldBe 0
    }

    it("is continued exactly by a streaming query from its ending position") {
      val stream = newStream(shards = 2)
      val before = put(stream, "before", 300)
      split(stream)
      val at    = now(stream)
      val after = put(stream, "after", 300)
      val log   = new BatchLog
      runOnce(load(stream, "startingPosition" -> at), checkpoint(), Trigger.AvailableNow)(log.add)
      texts(backfill(stream, "endingPosition" -> at)).sorted shouldBe before.sorted
      log.texts.sorted shouldBe after.sorted
    }

    byPolling("between the offsets of any batch of a query returns the same rows") {
      val stream = newStream(shards = 2)
      put(stream, "r", 300)
      val log = new BatchLog
      val at  = checkpoint()
      runOnce(load(stream, "maxRecordsPerTrigger" -> "70"), at, Trigger.AvailableNow)(log.add)
      log.all.size should be > 3
      for ((id, rows) <- log.all) {
        val reread = backfill(
          stream,
          "startingPosition" -> OffsetJson.write(StreamPositions.beforeBatch(spark, at.toString, id)),
          "endingPosition"   -> OffsetJson.write(StreamPositions.afterBatch(spark, at.toString, Some(id)))
        )
        BatchLog.canonical(BatchLog.rowsOf(reread)) shouldBe BatchLog.canonical(rows)
      }
    }

    byPolling("skips shards and records that a filter excludes, and builds only the selected columns") {
      val stream = newStream(shards = 3)
      put(stream, "f", 300)
      val frame = backfill(stream)
      val all   = frame.select("shardId", "sequenceNumber", "approximateArrivalTimestamp").collect()
      val shard = all.head.getString(0)
      frame.where(s"shardId = '$shard'").count() shouldBe all.count(_.getString(0) == shard)
      frame.where("shardId = 'shardId-999999999999' or shardId = ''").count() shouldBe 0
      frame.where(s"streamName in ('x', '${stream.name}')").count() shouldBe all.length
      frame.where("streamName = 'x'").rdd.getNumPartitions shouldBe 0
      frame.where("approximateArrivalTimestamp > timestamp'2999-01-01'").count() shouldBe 0
      frame.where("approximateArrivalTimestamp > timestamp'2020-01-01'").count() shouldBe all.length
      frame.selectExpr("length(data) n", "shardId").groupBy("shardId").sum("n").count() shouldBe 3
    }
  }

  describe("a query with AvailableNow") {

    it(
      "reads records present at its start in limited batches and ends, and the next run continues"
    ) {
      val stream = newStream(shards = 3)
      val at     = checkpoint()
      val log    = new BatchLog
      val late   = new ConcurrentLinkedQueue[String]
      def run()  = runOnce(load(stream, "maxRecordsPerTrigger" -> "100"), at, Trigger.AvailableNow) { (batch, id) =>
        log.add(batch, id)
        // What comes meanwhile belongs to the next run.
        put(stream, s"late-$id", 5).foreach(late.add)
      }
      val first = put(stream, "first", 450)
      run()
      log.texts.sorted shouldBe first.sorted
      log.all.map(_._2.size).max should be <= 100
      val second = late.asScala.toSeq
      run()
      log.texts.sorted shouldBe (first ++ second).sorted
    }

    it("reads split and merged shards, and leaves shards opened during the run to the next one") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new BatchLog
      val first  = put(stream, "a", 100)
      split(stream)
      val second = put(stream, "b", 100)
      var isDone = false
      runOnce(load(stream), at, Trigger.AvailableNow) { (batch, id) =>
        log.add(batch, id)
        if (!isDone) {
          isDone = true
          split(stream)
          put(stream, "c", 100): Unit
        }
      }
      log.texts.sorted shouldBe (first ++ second).sorted
      runOnce(load(stream), at, Trigger.AvailableNow)(log.add)
      log.texts.count(_.startsWith("c-")) shouldBe 100
      log.texts.size shouldBe 300
    }

    it("ends at once if the stream is empty or nothing has arrived since the last run") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new BatchLog
      runOnce(load(stream), at, Trigger.AvailableNow)(log.add)
      log.rows shouldBe empty
      val all = put(stream, "r", 20)
      runOnce(load(stream), at, Trigger.AvailableNow)(log.add)
      runOnce(load(stream), at, Trigger.AvailableNow)(log.add)
      log.texts.sorted shouldBe all.sorted
      pause()
      val later = new BatchLog
      runOnce(load(stream, "startingPosition" -> "LATEST"), checkpoint(), Trigger.AvailableNow)(later.add)
      later.rows shouldBe empty
    }
  }

  it("a query with Trigger.Once reads all present records in one batch, shows its shards, and the next run continues") {
    val stream = newStream(shards = 2)
    val at     = checkpoint()
    val log    = new BatchLog
    @annotation.nowarn("cat=deprecation")
    def run() = {
      val query = ended(load(stream, "maxRecordsPerTrigger" -> "10"), at, Trigger.Once())(log.add)
      val shown = query.lastProgress.sources.head.metrics
      (shown.get("shardsOpen"), shown.get("maxMillisBehindLatest")) shouldBe (("2", "0"))
    }
    val first = put(stream, "a", 150)
    run()
    log.all.map(_._2.size) shouldBe Vector(150)
    val second = put(stream, "b", 150)
    run()
    log.all.map(_._2.size) shouldBe Vector(150, 150)
    log.texts.sorted shouldBe (first ++ second).sorted
  }
}

class BatchSpec extends Suites(Passes.first(Mode.FanOut)(new BatchScenarios(_, _)): _*)
