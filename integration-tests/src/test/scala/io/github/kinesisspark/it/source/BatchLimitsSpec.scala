package io.github.kinesisspark.it.source

import java.nio.file.Path
import java.time.{Duration, Instant}

import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.util.{Success, Try}

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.{ExtendedMode, SimpleMode}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.kinesisspark.{CapturedLogs, StreamPositions}
import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.config.OptionException
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.position._
import io.github.kinesisspark.position.ShardPosition.AfterSequenceNumber
import io.github.kinesisspark.testkit.FaultEffect.ServiceCode
import io.github.kinesisspark.testkit.FaultRule
import io.github.kinesisspark.testkit.model.{SequenceNumber => MadeNumber}

/** Tests batch reads over days: the ranges they skip, their statistics, and the positions they refuse. */
class BatchLimitsSpec extends TestkitSuite with CapturedLogs {
  private def time(): Instant = Instant.ofEpochMilli(serverClock.millis)

  private def pass(hours: Double): Instant = {
    serverClock.advance(Duration.ofMinutes((hours * 60).toLong))
    time()
  }

  @annotation.nowarn("cat=deprecation")
  private def once = Trigger.Once()

  private def now(stream: TestStream): String = OffsetJson.write(StreamPositions.latest(options(stream)))

  /** Positions of shards as people write them. */
  private def positions(stream: TestStream, each: (String, String)*): String =
    each.map { case (shard, at) => s""" "$shard": "$at" """ }.mkString(s"""{"${stream.name}": {""", ",", "}}")

  /** A number that the server has given to no record, so much after one that it has. */
  private def after(number: String, more: Long): String = {
    val made = MadeNumber.parse(number).getOrElse(fail(s"$number is not the server's"))
    made.copy(ordinal = made.ordinal + more).toString
  }

  /** Records that tasks and planning got from the server. */
  private def read(stream: TestStream)(body: => Any): Int = {
    kinesis.calls.clear()
    body
    kinesis.calls.recent.filter(c => c.action == "GetRecords" && c.stream.contains(stream.name)).map(_.records).sum
  }

  private def refusal(frame: => DataFrame): Throwable =
    Iterator
      .iterate(intercept[Throwable](frame.collect()))(_.getCause)
      .takeWhile(_ != null)
      .find {
        case _: KinesisException | _: OptionException | _: OffsetException => true
        case _                                                             => false
      }
      .getOrElse(fail("another failure"))

  describe("a time filter") {
    it("becomes start and end positions, so that records outside it are not read") {
      val stream              = newStream(shards = 1)
      def large(text: String) = (1 to 25).foreach(_ => stream.putBytes(Array.fill(1000000)(text.head.toByte)))
      large("old")
      val from = pass(hours = 5)
      put(stream, "middle", 5)
      val until = pass(hours = 5)
      pass(hours = 1)
      large("new")
      val frame = backfill(stream)
      read(stream)(frame.count() shouldBe 55) should be >= 55
      val between = frame.where(
        s"approximateArrivalTimestamp >= timestamp'$from' and approximateArrivalTimestamp < timestamp'$until'"
      )
      // An answer holds 10 MB, so the last one brings a few that come after the end.
      read(stream)(between.count() shouldBe 5) should be < 20
      between.queryExecution.explainString(ExtendedMode) should include("arrived from")
      frame.where("approximateArrivalTimestamp < timestamp'2001-01-01'").count() shouldBe 0
    }

    it("does not hide that records which it lets pass are past retention, of a DataFrame that was planned before") {
      val stream = newStream(shards = 1)
      val begin  = pass(hours = 1)
      put(stream, "gone", 5)
      pass(hours = 2)
      put(stream, "old", 5)
      val until = pass(hours = 2)
      put(stream, "new", 5)
      val (strict, lenient) = (backfill(stream), backfill(stream, "failOnDataLoss" -> "false"))
      Seq(strict, lenient).foreach(_.count() shouldBe 15)
      pass(hours = 21)
      def since(time: Instant) = s"approximateArrivalTimestamp >= timestamp'$time'"
      refusal(strict.where(since(begin.minus(Duration.ofMinutes(30))))).getMessage should include("KINESIS_DATA_LOSS")
      lenient.where(since(begin.minus(Duration.ofMinutes(30)))).count() shouldBe 10
      strict.where(since(until.minus(Duration.ofHours(1)))).count() shouldBe 5
    }
  }

  describe("the query planner") {
    it("gets exact statistics of a small backlog, and an upper estimate of a large one") {
      val stream = newStream(shards = 1)
      put(stream, "few", 50)
      // An aggregated record is one of these, and several rows.
      backfill(stream).queryExecution.optimizedPlan.stats.rowCount shouldBe None
      val few = backfill(stream, "deaggregate" -> "false").queryExecution.optimizedPlan.stats
      few.rowCount shouldBe Some(50)
      few.sizeInBytes should be < BigInt(2000)
      pass(hours = 1)
      put(stream, "many", 2000)
      val many = backfill(stream, "deaggregate" -> "false").queryExecution.optimizedPlan.stats
      many.rowCount shouldBe None
      many.sizeInBytes should be > BigInt(3000L * 1000 * 1000)
      many.sizeInBytes should be < BigInt(4000L * 1000 * 1000)
    }

    it("gets no statistics for a streaming query, which causes no extra reads") {
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      put(stream, "r", 20)
      running(load(stream, "startingPosition" -> "LATEST"), checkpoint())(log.add)(query =>
        eventually(query.lastProgress should not be null)
      )
      kinesis.calls.recent
        .filter(c => c.action == "GetShardIterator" && c.stream.contains(stream.name))
        .flatMap(_.start)
        .filterNot(_.startsWith("AT_TIMESTAMP")) shouldBe empty
    }
  }

  it("EXPLAIN of a batch read by fan-out registers no consumer") {
    val stream = newStream(shards = 1)
    put(stream, "r", 10)
    val rows = backfill(stream, "recordPublisher" -> "efo", "efo.consumerName" -> "explained")
    rows.queryExecution.explainString(SimpleMode) should include("BatchScan")
    kinesis.calls.count("RegisterStreamConsumer", stream.name) shouldBe 0
    rows.count() shouldBe 10
    kinesis.calls.count("RegisterStreamConsumer", stream.name) shouldBe 1
  }

  describe("an ending position at a future time") {
    it("is fixed at the records present when the batch is planned") {
      val stream = newStream(shards = 1)
      put(stream, "a", 10)
      val end   = pass(hours = 1)
      val frame = backfill(stream, "endingPosition" -> s"AT_TIMESTAMP:${end.plusSeconds(3600)}")
      frame.count() shouldBe 10
      put(stream, "same", 10)
      frame.count() shouldBe 10
    }
  }

  describe("past retention") {
    it(
      "a starting time, of a batch read or a streaming query, or an ending time is data loss, unless failOnDataLoss is false"
    ) {
      val stream = newStream(shards = 1)
      put(stream, "a", 10)
      val old = time()
      pass(hours = 30)
      put(stream, "b", 10)
      val position = "startingPosition" -> s"AT_TIMESTAMP:$old"
      val refused  = refusal(backfill(stream, position))
      refused.getMessage should (startWith("[KINESIS_DATA_LOSS]") and include("past the retention") and include(
        "24 hours"
      ))
      texts(backfill(stream, position, "failOnDataLoss" -> "false")).size shouldBe 10
      failureOf(start(stream, checkpoint(), new BatchLog, position)).getMessage should include(refused.getMessage)
      val log = new BatchLog
      running(load(stream, position, "failOnDataLoss" -> "false"), checkpoint())(log.add) { _ =>
        eventually(log.texts.size shouldBe 10)
      }
      refusal(backfill(stream, "endingPosition" -> s"AT_TIMESTAMP:$old")).getMessage should startWith(
        "[KINESIS_DATA_LOSS]"
      )
    }

    it("the position of one shard is data loss unless the range there is empty") {
      val stream             = newStream(shards = 2)
      val Seq(first, second) = stream.openShards().map(_.shardId): @unchecked
      put(stream, "a", 20)
      val old = time()
      pass(hours = 30)
      put(stream, "b", 20)
      val past = positions(stream, first -> s"AT_TIMESTAMP:$old", second -> "TRIM_HORIZON")
      for (option <- Seq("startingPosition", "endingPosition"))
        refusal(backfill(stream, option -> past)).getMessage should (startWith("[KINESIS_DATA_LOSS]") and include(
          s"'$option' ($first at $old) is past the retention"
        ))
      failureOf(start(stream, checkpoint(), new BatchLog, "startingPosition" -> past)).getMessage should include(
        s"[KINESIS_DATA_LOSS] 'startingPosition' ($first at $old) is past the retention"
      )
      texts(backfill(stream, "startingPosition" -> past, "failOnDataLoss" -> "false")) should have size 20
      backfill(stream, "startingPosition" -> past, "endingPosition" -> past).count() shouldBe 0
    }

    it("a sequence number as position is data loss, for batch reads and for streaming queries") {
      val stream = newStream(shards = 1)
      put(stream, "a", 10)
      val old = now(stream)
      put(stream, "lost", 10)
      pass(hours = 30)
      put(stream, "b", 10)
      refusal(backfill(stream, "startingPosition" -> old)).getMessage should startWith(
        "[KINESIS_DATA_LOSS] 'startingPosition' is past the retention"
      )
      refusal(backfill(stream, "endingPosition" -> old)).getMessage should (startWith(
        "[KINESIS_DATA_LOSS]"
      ) and include("'endingPosition'"))
      texts(backfill(stream, "startingPosition" -> old, "failOnDataLoss" -> "false")).size shouldBe 10
      val query = start(stream, checkpoint(), new BatchLog, "startingPosition" -> old)
      failureOf(query).getMessage should include("[KINESIS_DATA_LOSS] 'startingPosition' is past the retention")
    }

    it("a position after the last record of a shard that has none left is warned of, as it may be no record's number") {
      val stream = newStream(shards = 1)
      put(stream, "a", 10)
      val end = now(stream)
      pass(hours = 30)
      val (count, said) = withLogs(backfill(stream, "endingPosition" -> end).count())
      count shouldBe 0
      said should include(s"if there was anything, is past the stream's retention")
    }

    it("records that expire between two actions fail the second, or are left out with failOnDataLoss=false") {
      for (failOnDataLoss <- Seq(true, false); isAfterRecord <- Seq(true, false)) {
        val stream = newStream(shards = 1)
        put(stream, "before", 1)
        val start = if (isAfterRecord) now(stream) else "TRIM_HORIZON"
        put(stream, "a", 10)
        pass(hours = 20)
        put(stream, "b", 10)
        val frame = backfill(stream, "startingPosition" -> start, "failOnDataLoss" -> failOnDataLoss.toString)
        frame.count() shouldBe (if (isAfterRecord) 20 else 21)
        pass(hours = 10)
        if (failOnDataLoss) intercept[Exception](frame.collect()).toString should include("[KINESIS_DATA_LOSS]")
        else texts(frame).size shouldBe 10
      }
    }

    for (trigger <- Seq(Trigger.AvailableNow(), once)) {
      def run(stream: TestStream, at: Path, log: BatchLog): StreamingQuery =
        start(load(stream), at, trigger)(log.add)
      def ran(stream: TestStream, at: Path, log: BatchLog): Unit =
        run(stream, at, log).awaitTermination(180000) shouldBe true: Unit

      it(s"an idle stream loses nothing if a query with $trigger runs now and then") {
        val stream = newStream(shards = 2)
        val at     = checkpoint()
        val log    = new BatchLog
        put(stream, "a", 20)
        ran(stream, at, log)
        for (_ <- 1 to 4) {
          pass(hours = 20)
          ran(stream, at, log)
        }
        put(stream, "b", 20)
        ran(stream, at, log)
        log.texts should have size 40
      }

      it(s"records after the last run of a query with $trigger are data loss") {
        val stream = newStream(shards = 2)
        val at     = checkpoint()
        val log    = new BatchLog
        put(stream, "a", 20)
        ran(stream, at, log)
        put(stream, "lost", 20)
        pass(hours = 7)
        put(stream, "left", 20)
        pass(hours = 23.5)
        failureOf(run(stream, at, log)).getMessage should include("KINESIS_DATA_LOSS")
        log.texts should have size 20
      }
    }

    it("a shard that no longer exists is data loss") {
      val stream = newStream(shards = 1)
      put(stream, "a", 10)
      val old   = now(stream)
      val shard = stream.onlyShard()
      stream.split(shard)
      awaitOpen(stream, 2)
      pass(hours = 30)
      put(stream, "b", 10)
      refusal(backfill(stream, "startingPosition" -> old)).getMessage should (startWith(
        "[KINESIS_DATA_LOSS]"
      ) and include(shard.shardId))
      texts(backfill(stream, "startingPosition" -> old, "failOnDataLoss" -> "false")).size shouldBe 10
    }
  }

  describe("a shard that goes past retention while a batch read looks into it") {
    it("is left out of a read from the oldest record") {
      val read = expiresMeanwhile(_ => Map.empty)
      read.texts shouldBe Success(read.late)
    }

    it("is data loss where its position was given, unless failOnDataLoss is false") {
      def from(stream: TestStream) = Map("startingPosition" -> now(stream))
      val strict                   = expiresMeanwhile(from)
      strict.texts.failed.get.toString should (include(
        "[KINESIS_DATA_LOSS] 'startingPosition' is past the retention"
      ) and
        include(strict.parent))
      val lenient = expiresMeanwhile(from(_) + ("failOnDataLoss" -> "false"))
      lenient.texts shouldBe Success(lenient.late)
    }

    /** @param late  what is left
      * @param texts what was read, in order
      */
    final class Expired(val parent: String, val late: Seq[String], val texts: Try[Seq[String]])

    /** A shard is split and goes past retention once a batch read has listed it. Its iterators are refused until then.
      *
      * @param options of the read, made when the shard has some records
      */
    def expiresMeanwhile(options: TestStream => Map[String, String]): Expired = {
      val stream = newStream(shards = 1)
      val parent = stream.onlyShard()
      put(stream, "gone", 20)
      val more = options(stream)
      put(stream, "unread", 20)
      stream.split(parent)
      awaitOpen(stream, 2)
      pass(hours = 23)
      val late      = put(stream, "late", 20)
      val throttled = ServiceCode("ProvisionedThroughputExceededException")
      val rule      = FaultRule(throttled, Some("GetShardIterator"), Some(stream.name), Some(parent.shardId))
      val read      = underFault(rule) {
        val read = Future(texts(backfill(stream, more.toSeq: _*)))(ExecutionContext.global)
        eventually(kinesis.faults.hits should be > 0L)
        pass(hours = 2)
        read
      }
      new Expired(parent.shardId, late.sorted, Try(Await.result(read, 3.minutes)).map(_.sorted))
    }
  }

  describe("a read is refused with advice, given") {
    lazy val stream = newStream(shards = 2)
    def shards      = stream.openShards().map(_.shardId)

    it("an ending position before the starting position") {
      val early = now(stream)
      put(stream, "a", 50)
      val late    = now(stream)
      val refused = refusal(backfill(stream, "startingPosition" -> late, "endingPosition" -> early))
      refused.getMessage should (startWith(
        "[KINESIS_OFFSET_REFUSED] 'endingPosition' comes before 'startingPosition'"
      ) and include(shards.head))
    }

    it("the end of an open shard as its start") {
      val start = positions(stream, shards.head -> "SHARD_END", shards(1) -> "TRIM_HORIZON")
      refusal(backfill(stream, "startingPosition" -> start)).getMessage should (startWith(
        "[KINESIS_OFFSET_REFUSED] 'startingPosition' is SHARD_END"
      ) and include(shards.head) and not include shards(1))
    }

    it("an ending time before an exact start, unless no records lie in between") {
      val stream    = newStream(shards = 2)
      val Seq(a, b) = stream.openShards(): @unchecked
      put(stream, "old", 50)
      val noon  = pass(hours = 1)
      val old   = now(stream)
      val until = "endingPosition" -> s"AT_TIMESTAMP:$noon"
      pass(hours = 1)
      backfill(stream, "startingPosition" -> now(stream), until).count() shouldBe 0
      stream.putAt(TestStream.startingHash(a), "new")
      val refused = "[KINESIS_OFFSET_REFUSED] 'endingPosition' comes before 'startingPosition'"
      refusal(backfill(stream, "startingPosition" -> now(stream), until)).getMessage should (
        startWith(refused) and include(a.shardId) and not include b.shardId
      )
      stream.putAt(TestStream.startingHash(b), "new")
      refusal(backfill(stream, "startingPosition" -> now(stream), until)).getMessage should (
        startWith(refused) and include(a.shardId) and include(b.shardId)
      )
      // A start that is found out itself may come after the end.
      backfill(stream, "startingPosition" -> s"AT_TIMESTAMP:$noon", "endingPosition" -> old).count() shouldBe 0
    }

    it("an ending sequence number without a record, unless it comes from an offset") {
      val stream        = newStream(shards = 2)
      val Seq(one, two) = stream.openShards(): @unchecked
      val here          = (1 to 30).map(i => stream.putAt(TestStream.startingHash(one), s"r$i").sequenceNumber)
      val there         = stream.putAt(TestStream.startingHash(two), "r").sequenceNumber
      val offset        = StreamPositions.latest(options(stream))

      def byHand(number: String)     = positions(stream, one.shardId -> number, two.shardId -> there)
      def inAnOffset(number: String) = OffsetJson.write(KinesisOffset(offset.streams.map { case (arn, at) =>
        val moved = ShardProgress(AfterSequenceNumber(SequenceNumber(number)))
        arn -> at.copy(shards = at.shards.updated(one.shardId, moved))
      }))
      def count(end: String) = backfill(stream, "endingPosition" -> end).count()

      count(byHand(here(2))) shouldBe 4
      count(byHand(s"AT_SEQUENCE_NUMBER:${here(2)}")) shouldBe 3
      // The server's numbers have gaps.
      val (gap, next) = here.indices
        .map(i => i -> after(here(i), 1))
        .find { case (_, number) => !here.contains(number) }
        .getOrElse(fail("no gap between 30 numbers"))
      val beyond = after(here.last, 100)
      for (number <- Seq(next, beyond, there); position <- Seq(number, s"AT_SEQUENCE_NUMBER:$number"))
        refusal(backfill(stream, "endingPosition" -> byHand(position))).getMessage should (
          startWith("[KINESIS_OFFSET_REFUSED] 'endingPosition'") and include(s"${one.shardId} at $number")
        )
      count(inAnOffset(next)) shouldBe gap + 2
      count(inAnOffset(beyond)) shouldBe 31
    }

    it("a start at LATEST or in the future") {
      refusal(backfill(stream, "startingPosition" -> "LATEST")).getMessage should include("nothing to read")
      refusal(
        backfill(stream, "startingPosition" -> s"AT_TIMESTAMP:${time().plusSeconds(3600)}")
      ).getMessage should include("in the future")
    }

    it("a future start of one shard, where a future end means the newest record") {
      val future = s"AT_TIMESTAMP:${time().plusSeconds(3600)}"
      val start  = positions(stream, shards.head -> future, shards(1) -> "TRIM_HORIZON")
      refusal(backfill(stream, "startingPosition" -> start)).getMessage should (
        startWith("[KINESIS_INVALID_OPTION]") and include(s"(${shards.head} at ") and include("in the future")
      )
      val end = positions(stream, shards.map(_ -> future): _*)
      put(stream, "c", 10)
      backfill(stream, "endingPosition" -> end).count() shouldBe backfill(stream).count()
    }

    it("unknown shards, and positions that lack a shard") {
      val unknown = s"""{"${stream.name}":{"${shards.head}":"TRIM_HORIZON","${shards(
          1
        )}":"TRIM_HORIZON","shardId-000000000099":"TRIM_HORIZON"}}"""
      refusal(backfill(stream, "startingPosition" -> unknown)).getMessage should (include(
        "shardId-000000000099"
      ) and include("another stream's"))
      val partly = s"""{"${stream.name}":{"${shards.head}":"TRIM_HORIZON"}}"""
      for (option <- Seq("startingPosition", "endingPosition"))
        refusal(backfill(stream, option -> partly)).getMessage should (include("says nothing about") and include(
          shards(1)
        ))
      failureOf(start(stream, checkpoint(), new BatchLog, "startingPosition" -> partly)).getMessage should include(
        "says nothing about"
      )
    }

    it("positions of another stream, or of a deleted stream of the same name") {
      val other = newStream(shards = 2)
      intercept[OptionException](backfill(stream, "startingPosition" -> now(other))).getMessage should include(
        other.name
      )
      val before = now(stream)
      service.call(_.deleteStream(r => r.streamName(stream.name)))
      eventually(service.call(_.listStreams()).streamNames should not contain stream.name)
      serverClock.advance(Duration.ofSeconds(5))
      service.call(_.createStream(r => r.streamName(stream.name).shardCount(2)))
      eventually(stream.status().toString shouldBe "ACTIVE")
      refusal(backfill(stream, "startingPosition" -> before)).getMessage should include("deleted and created again")
    }

    it("an ending position of a streaming query") {
      val query = start(stream, checkpoint(), new BatchLog, "endingPosition" -> "LATEST")
      failureOf(query).getMessage should include("'endingPosition' is of batch reads")
    }

    it("a checkpoint without the batch") {
      val at = checkpoint()
      intercept[OffsetException](StreamPositions.afterBatch(spark, at.toString)).getMessage should include(
        "no directory 'offsets'"
      )
      val log = new BatchLog
      put(stream, "x", 5)
      running(load(stream), at)(log.add)(_ => eventually(log.rows should have size 5))
      intercept[OffsetException](StreamPositions.afterBatch(spark, at.toString, Some(77))).getMessage should include(
        "no batch 77"
      )
    }

    it("a checkpoint without a committed batch, unless a batch is named") {
      val stream = newStream(shards = 1)
      val at     = checkpoint()
      val log    = new BatchLog
      put(stream, "x", 5)
      running(load(stream), at)(log.add) { _ =>
        eventually(log.rows should have size 5)
        awaitCommit(at, log)
      }
      StreamPositions.afterBatch(spark, at.toString).streams should have size 1
      eraseCommit(at, 0)
      intercept[OffsetException](StreamPositions.afterBatch(spark, at.toString)).getMessage should include(
        "has no committed batch yet; planned are 0 to"
      )
      StreamPositions.afterBatch(spark, at.toString, Some(0)).streams should have size 1
    }
  }

  describe("SQL") {
    lazy val stream = newStream(shards = 2)

    def clause: String = (options(stream) + ("secretAccessKey" -> "planted-secret"))
      .map { case (key, value) => s"$key '$value'" }
      .mkString(", ")

    def rows(sql: String): Seq[Row] = spark.sql(sql).collect().toSeq

    it("tables over a stream are read anew by each query, and hide secrets") {
      put(stream, "a", 20)
      spark.sql(s"CREATE TABLE orders USING kinesis OPTIONS ($clause)")
      try {
        rows("SELECT count(*) FROM orders").head.getLong(0) shouldBe 20
        put(stream, "b", 20)
        rows("SELECT count(*), count(DISTINCT shardId) FROM orders") shouldBe Seq(Row(40L, 2L))
        rows("SELECT * FROM orders a JOIN orders b USING (shardId, sequenceNumber)") should have size 40
        spark.table("orders").schema.fieldNames should contain("approximateArrivalTimestamp")
        val shown = rows("DESCRIBE EXTENDED orders").mkString + rows("SHOW CREATE TABLE orders").mkString
        shown should not include "planted-secret"
      } finally spark.sql("DROP TABLE orders"): Unit
    }

    it("views over a table or over options alone can be queried") {
      spark.sql(s"CREATE TABLE orders USING kinesis OPTIONS ($clause)")
      spark.sql("CREATE VIEW texts AS SELECT cast(data AS string) AS text FROM orders WHERE streamName IS NOT NULL")
      spark.sql(s"CREATE TEMPORARY VIEW backfill USING kinesis OPTIONS ($clause, endingPosition 'LATEST')")
      try {
        rows("SELECT text FROM texts") should have size 40
        rows("SELECT 1 FROM backfill") should have size 40
        put(stream, "c", 5)
        rows("SELECT text FROM texts") should have size 45
        rows("SELECT 1 FROM backfill") should have size 40
      } finally {
        spark.sql("DROP VIEW texts")
        spark.sql("DROP VIEW backfill")
        spark.sql("DROP TABLE orders"): Unit
      }
    }

    it("tables can be read as streams") {
      spark.sql(s"CREATE TABLE orders USING kinesis OPTIONS ($clause, startingPosition 'TRIM_HORIZON')")
      val log = new BatchLog
      try
        running(spark.readStream.table("orders"), checkpoint())(log.add)(_ => eventually(log.rows should have size 45))
      finally spark.sql("DROP TABLE orders"): Unit
    }
  }
}
