package io.github.kinesisspark.it.source

import java.nio.file.{Files, Path}

import scala.concurrent.duration._
import scala.util.{Success, Try}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.kinesisspark.{CapturedLogs, StreamPositions}
import io.github.kinesisspark.it.{Patience, TestStream}
import io.github.kinesisspark.position.OffsetJson
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule, Occurrence, ResetPoint}
import io.github.kinesisspark.testkit.FaultEffect._
import io.github.kinesisspark.testkit.Occurrence._
import io.github.kinesisspark.testkit.model.SequenceNumber

/** Injects faults into polling: the query delivers every record once, or fails with the cause. */
final class FaultsSpec extends TestkitSuite with CapturedLogs {

  override protected def settings: Map[String, String] =
    super.settings + ("spark.sql.streaming.realTimeMode.minBatchDuration" -> "500")

  private def everyRecordOnceUnder(effect: FaultEffect, action: String, occurrence: Occurrence): Unit = {
    // Listed often, so that faults of the listing occur while the query runs.
    val often  = "shardDiscoveryInterval" -> "500ms"
    val stream = newStream(shards = 2)
    val log    = new BatchLog
    underFault(FaultRule(effect, action = Some(action), stream = Some(stream.name), occurrence = occurrence)) {
      val first = put(stream, "first", 200)
      running(load(stream, often), checkpoint())(log.add) { _ =>
        eventually(log.rows.size shouldBe 200)
        val second = put(stream, "second", 200)
        eventually(log.texts.sorted shouldBe (first ++ second).sorted)
      }
    }
    inOrder(log)
  }

  describe("every record is delivered once, in order, if") {
    it("an iterator expires, also twice in a row") {
      everyRecordOnceUnder(ServiceCode("ExpiredIteratorException"), "GetRecords", First(4))
      everyRecordOnceUnder(ServiceCode("ExpiredIteratorException"), "GetRecords", Every(2))
    }

    it("an iterator expires while the latest positions are determined") {
      val stream = newStream(shards = 2)
      val log    = new BatchLog
      val all    = put(stream, "r", 200)
      val expire = ServiceCode("ExpiredIteratorException")
      underFault(FaultRule(expire, action = Some("GetRecords"), stream = Some(stream.name), occurrence = First(3))) {
        val query = start(load(stream), checkpoint(), Trigger.AvailableNow())(log.add)
        query.awaitTermination(Patience.emulator.atMost.millisPart) shouldBe true
      }
      log.texts.sorted shouldBe all.sorted
    }

    it("reads are throttled by other consumers of the shard") {
      everyRecordOnceUnder(ServiceCode("ProvisionedThroughputExceededException"), "GetRecords", Every(2))
      everyRecordOnceUnder(ServiceCode("ProvisionedThroughputExceededException"), "GetShardIterator", First(3))
    }

    it("the service has internal failures") {
      everyRecordOnceUnder(ServiceCode("InternalFailure", status = 500), "GetRecords", Every(3))
      everyRecordOnceUnder(HttpStatus(503), "GetRecords", First(3))
    }

    it("connections are reset before the call or inside the answer") {
      everyRecordOnceUnder(Reset(ResetPoint.BeforeCall), "GetRecords", Every(3))
      everyRecordOnceUnder(Reset(ResetPoint.InsideBody), "GetRecords", Every(3))
    }

    it("answers are truncated or garbled") {
      everyRecordOnceUnder(TruncatedBody, "GetRecords", First(3))
      everyRecordOnceUnder(GarbageBody, "GetRecords", First(3))
    }

    it("answers are empty although there are more records") {
      everyRecordOnceUnder(EmptyAnswer(60000), "GetRecords", First(8))
    }

    it("answers are slow") {
      everyRecordOnceUnder(Delay(700.millis), "GetRecords", Every(2))
    }

    it("ListShards fails for a while") {
      everyRecordOnceUnder(ServiceCode("LimitExceededException"), "ListShards", First(2))
      everyRecordOnceUnder(ServiceCode("ResourceInUseException"), "ListShards", First(2))
    }
  }

  it("throttled and failed calls that were retried are counted in the metrics") {
    val calls =
      Seq("callsThrottled" -> ServiceCode("ProvisionedThroughputExceededException"), "callsFailed" -> HttpStatus(503))
    for ((counted, effect) <- calls) {
      val stream = newStream(shards = 2)
      val rule   = FaultRule(effect, Some("GetRecords"), Some(stream.name), occurrence = First(3))
      underFault(rule) {
        running(load(stream), checkpoint())(new BatchLog().add) { query =>
          for ((name, _) <- calls) eventually(metric(query, name) shouldBe (if (name == counted) 3 else 0))
        }
      }
    }
  }

  describe("a query fails with a clear error if") {
    it("reading is denied, naming the action and the stream") {
      val stream = newStream(shards = 1)
      val rule   =
        FaultRule(ServiceCode("AccessDeniedException", "not authorized"), Some("GetRecords"), Some(stream.name))
      underFault(rule) {
        val failure = failureOf(start(stream, checkpoint()))
        failure.getMessage should (include("KINESIS_ACCESS_DENIED") and include("GetRecords") and include(stream.name))
      }
    }

    it("the stream does not exist") {
      val absent  = new TestStream(service, "no-such-stream")
      val failure = failureOf(start(absent, checkpoint()))
      failure.getMessage should (include("KINESIS_NOT_FOUND") and include("no-such-stream"))
    }

    it("the stream is deleted while it is read") {
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      val query  = start(stream, checkpoint(), log)
      put(stream, "x", 10)
      eventually(log.rows.size shouldBe 10)
      kinesis.streams.deleteStream(stream.name)
      val failure = failureOf(query)
      failure.getMessage should (include("KINESIS_NOT_FOUND") and include(stream.name))
    }

    it("the stream was deleted and created again since the checkpoint") {
      val stream = newStream(shards = 1)
      val at     = readSome(stream)
      kinesis.streams.deleteStream(stream.name)
      serverClock.advance(java.time.Duration.ofSeconds(5))
      eventually(kinesis.streams.createStream(stream.name, 1))
      put(stream, "other", 10)
      failureOf(start(stream, at)).getMessage should include("was deleted and created again")
    }

    it("the checkpoint is of another stream") {
      val at    = readSome(newStream(shards = 1))
      val other = newStream(shards = 1)
      failureOf(start(other, at)).getMessage should (include("which this query does not read") and include(other.name))
    }

    it("the checkpoint was written by a later release or by another connector") {
      val stream = newStream(shards = 1)
      for (
        (edit, complaint) <- Seq[(String => String, String)](
          (_.replace("\"version\":1", "\"version\":7"), "has version 7"),
          (_ => """{"shardId-000000000000":{"iteratorType":"AFTER_SEQUENCE_NUMBER"}}""", "not of this connector")
        )
      ) {
        val at = readSome(stream)
        editOffsets(at, edit)
        failureOf(start(stream, at)).getMessage should include(complaint)
      }
    }

    it("it leaves offsets out of its log, as a restart could not read to the record") {
      val stream                 = newStream(shards = 1)
      val all                    = put(stream, "r", 10)
      def tracked(interval: Int) = load(stream).writeStream
        .format("noop")
        .option("checkpointLocation", checkpoint().toString)
        .option("asyncProgressTrackingEnabled", "true")
        .option("asyncProgressTrackingCheckpointIntervalMs", interval.toString)
        .start()
      failureOf(tracked(interval = 1000)).getMessage should include("asyncProgressTrackingCheckpointIntervalMs")
      val query = tracked(interval = 0)
      try eventually(metric(query, "userRecords") shouldBe all.size)
      finally query.stop()
    }

    it("nothing listens at the endpoint") {
      val stream  = newStream(shards = 1)
      val failure = failureOf(
        load(stream, "endpoint" -> "http://127.0.0.1:9").writeStream
          .format("noop")
          .option("checkpointLocation", checkpoint().toString)
          .start()
      )
      failure.getMessage should (include("KINESIS_UNREACHABLE") and include("127.0.0.1:9"))
    }
  }

  describe("records past retention") {
    it("of a replayed batch fail the query, or are left out with failOnDataLoss=false") {
      val stream = newStream(shards = 1)
      val at     = checkpoint()
      val log    = new BatchLog
      put(stream, "gone", 100)
      running(load(stream), at)(log.add)(_ => eventually(log.rows.size shouldBe 100))
      eraseCommit(at, log.all.filter(_._2.nonEmpty).head._1)
      val later = stream.put("later")
      kinesis.streams.trim(stream.name, later.shardId, later.sequenceNumber)
      val failure = failureOf(start(stream, at))
      failure.getMessage should (include("KINESIS_DATA_LOSS") and include(stream.onlyShard().shardId))
      val rest = new BatchLog
      val next = start(stream, at, rest, "failOnDataLoss" -> "false")
      eventually(rest.texts shouldBe Seq("later"))
      next.stop()
    }

    it("where AvailableNow is to stop fail the query, if they expire before its reader's first answer") {
      stopExpires() { (ended, _) =>
        ended.failed.get.getMessage should (include("KINESIS_DATA_LOSS") and include("shardId-000000000000"))
      }
    }

    it("where AvailableNow is to stop fail the query, also if nothing comes after them") {
      stopExpires(hasLater = false)((ended, _) => ended.failed.get.getMessage should include("KINESIS_DATA_LOSS"))
    }

    it("where AvailableNow is to stop are left out with a warning if failOnDataLoss=false") {
      stopExpires(tolerant = true) { (ended, said) =>
        ended shouldBe Success(true)
        said should include regex "WARN .*planned into a batch and are no longer in the stream; continuing"
      }
    }

    /** @param check how the query ended, and what was logged */
    def stopExpires(hasLater: Boolean = true, tolerant: Boolean = false)(check: (Try[Boolean], String) => Any): Unit = {
      val stream = newStream(shards = 1)
      put(stream, "gone", 10)
      // The first call finds where to stop, the second is the reader's: it is refused until the records are gone.
      val throttled     = ServiceCode("ProvisionedThroughputExceededException")
      val refused       = FaultRule(throttled, Some("GetRecords"), Some(stream.name), occurrence = After(1))
      val log           = new BatchLog
      val (ended, said) = withLogs {
        val query = underFault(refused) {
          val frame   = load(stream, "failOnDataLoss" -> (!tolerant).toString)
          val started = start(frame, checkpoint(), Trigger.AvailableNow())(log.add)
          eventually {
            kinesis.calls.count("GetShardIterator", stream.name) should be >= 2L
            kinesis.faults.hits should be > 0L
          }
          val last   = stream.put("later")
          val number = SequenceNumber.parse(last.sequenceNumber).get
          val below  = if (hasLater) number else number.copy(ordinal = number.ordinal + 1)
          kinesis.streams.trim(stream.name, last.shardId, below.toString)
          started
        }
        Try(query.awaitTermination(180000))
      }
      log.texts shouldBe empty
      check(ended, said): Unit
    }

    it("of a shard that expired during downtime fail the query, or its children are read without it") {
      val (stream, at, parent, late) = expiredDuringDowntime()
      val failure                    = failureOf(start(stream, at))
      failure.getMessage should (include("KINESIS_DATA_LOSS") and include(parent))
      val log   = new BatchLog
      val query = start(stream, at, log, "failOnDataLoss" -> "false")
      eventually(log.texts.sorted shouldBe late.sorted)
      query.stop()
    }

    it("since the end of another query are warned of where the stream has none that show it") {
      val stream = newStream(shards = 1)
      val at     = readSome(stream)
      put(stream, "unread", 20)
      serverClock.advance(java.time.Duration.ofHours(49))
      val end       = OffsetJson.write(StreamPositions.afterBatch(spark, at.toString))
      val (_, said) = withLogs {
        val query = start(stream, checkpoint(), new BatchLog, "startingPosition" -> end)
        eventually(Option(query.lastProgress) should not be empty)
        query.stop()
      }
      said should include regex "WARN .* were not read, if there were any, are past"
    }

    it("are looked for after downtime without the shards that expire meanwhile") {
      val stream = newStream(shards = 1)
      val at     = readSome(stream)
      serverClock.advance(java.time.Duration.ofHours(49))
      val late = put(stream, "late", 20)
      val log  = new BatchLog
      underFault(FaultRule(ServiceCode("ResourceNotFoundException"), Some("GetShardIterator"), occurrence = First(1))) {
        val query = start(stream, at, log, "failOnDataLoss" -> "false")
        eventually(log.texts.sorted shouldBe late.sorted)
        query.stop()
      }
    }

    it("of a shard that expired during downtime are reported once, though the batch waits for minRecordsPerTrigger") {
      val (stream, at, _, late) = expiredDuringDowntime()
      val few       = Seq("minRecordsPerTrigger" -> "1000", "maxTriggerDelay" -> "4s", "failOnDataLoss" -> "false")
      val log       = new BatchLog
      val (_, said) = withLogs {
        val query = start(stream, at, log, few: _*)
        eventually(log.texts.sorted shouldBe late.sorted)
        query.stop()
      }
      said.split("not read to the end", -1) should have length 2
    }

    it(
      "of a shard that expired during downtime keep AvailableNow from its end until the service can be asked about it"
    ) {
      val (stream, at, _, late) = expiredDuringDowntime()
      val log                   = new BatchLog
      val calls                 = kinesis.calls.count("ListShards", stream.name)
      val query                 =
        underFault(FaultRule(ServiceCode("LimitExceededException"), Some("ListShards"), occurrence = After(1))) {
          val started = start(load(stream, "failOnDataLoss" -> "false"), at, Trigger.AvailableNow())(log.add)
          eventually(kinesis.calls.count("ListShards", stream.name) should be > calls + 5)
          started
        }
      query.awaitTermination(180000) shouldBe true
      log.texts.sorted shouldBe late.sorted
    }

    /** A stream, the checkpoint of a query that has read some of it, the shard that was split and has expired since, and what its children have. */
    def expiredDuringDowntime(): (TestStream, Path, String, Seq[String]) = {
      val stream = newStream(shards = 1)
      val at     = readSome(stream)
      val parent = stream.onlyShard().shardId
      put(stream, "unread", 20)
      kinesis.streams.split(stream.name, parent)
      eventually(stream.openShards().size shouldBe 2)
      serverClock.advance(java.time.Duration.ofHours(49))
      eventually(stream.shards().map(_.shardId) should not contain parent)
      (stream, at, parent, put(stream, "late", 20))
    }
  }

  describe("a shard that passes retention while it is read") {
    it("doesn't end AvailableNow before the other shards are read") {
      // The first call finds where to stop.
      passesRetention(inBatches(Trigger.AvailableNow()), looks = 1) { passed =>
        // Before a record of the other shard comes.
        eventually((passed.said().contains("not read to the end") || !passed.query.isActive) shouldBe true)
        passed.release()
        passed.query.awaitTermination(180000) shouldBe true
        passed.texts() should contain allElementsOf passed.rest
      }
    }

    it("keeps no other shard from being read where the service can't be asked about it") {
      readsOnUnlisted(inBatches(Trigger.ProcessingTime(0)))
    }

    it("keeps no other shard from being read in real-time mode where the service can't be asked about it") {
      readsOnUnlisted(inRealTime)
    }

    def readsOnUnlisted(begin: Begin): Unit = {
      val unlisted = FaultRule(ServiceCode("LimitExceededException"), Some("ListShards"))
      passesRetention(begin, looks = 0, Some(unlisted)) { passed =>
        eventually(passed.said() should include("still exist was not found out"))
        passed.release()
        eventually(passed.texts().exists(passed.rest.contains) shouldBe true)
        kinesis.faults.remove(unlisted).map(_.struck > 0L) shouldBe Vector(true)
        eventually(passed.texts() should contain allElementsOf passed.rest)
        passed.query.stop()
      }
    }

    def inBatches(trigger: Trigger): Begin = { (frame, at) =>
      val log   = new BatchLog
      val query = start(frame, at, trigger)(log.add)
      (query, () => log.texts)
    }

    def inRealTime: Begin = { (frame, at) =>
      val log   = new RealTimeLog
      val query = frame
        .selectExpr("shardId", "sequenceNumber", "cast(data as string)")
        .writeStream
        .outputMode("update")
        .trigger(Trigger.RealTime("1 second"))
        .option("checkpointLocation", at.toString)
        .foreach(log.writer)
        .start()
      (query, () => log.texts)
    }

    /** One of two shards is split, and goes past retention once the readers of both have begun. Their calls are refused until then, those of the
      * other shard until it is released.
      *
      * @param looks     calls of the driver
      * @param meanwhile another fault, which is added before the shard passes retention
      */
    def passesRetention(begin: Begin, looks: Int, meanwhile: Option[FaultRule] = None)(
        check: Passed => Any
    ): Unit = {
      val stream                = newStream(shards = 2)
      val Seq(passing, staying) = stream.openShards().map(_.shardId): @unchecked
      val at                    = readSome(stream)
      put(stream, "old", 40)
      kinesis.streams.split(stream.name, passing)
      serverClock.advance(java.time.Duration.ofHours(23))
      val rest                               = put(stream, "rest", 40)
      val throttled                          = ServiceCode("ProvisionedThroughputExceededException")
      def refused(shard: String, after: Int) =
        FaultRule(throttled, Some("GetRecords"), Some(stream.name), Some(shard), After(after))
      val (first, last) = (refused(passing, after = 0), refused(staying, looks))
      underFault(first, last) {
        val (query, texts) = begin(load(stream, "failOnDataLoss" -> "false"), at)
        // They have their iterators.
        eventually(kinesis.faults.list.filter(_.struck == 0) shouldBe empty)
        meanwhile.foreach(kinesis.faults.add)
        watchingLogs() { said =>
          serverClock.advance(java.time.Duration.ofHours(2))
          kinesis.faults.remove(first)
          check(new Passed(query, texts, rest, said, () => kinesis.faults.remove(last): Unit)): Unit
        }
      }
    }
  }

  /** Starts a query, and returns it with the texts that it has read. */
  private type Begin = (DataFrame, Path) => (StreamingQuery, () => Seq[String])

  /** A query. One of its two shards has gone past retention.
    *
    * @param texts   that it has read
    * @param rest    the texts that are left
    * @param said    what has been logged since
    * @param release lets the other shard be read
    */
  private final class Passed(
      val query: StreamingQuery,
      val texts: () => Seq[String],
      val rest: Seq[String],
      val said: () => String,
      val release: () => Unit
  )

  /** A checkpoint of a query that has read some of the stream. */
  private def readSome(stream: TestStream): Path = {
    val at     = checkpoint()
    val log    = new BatchLog
    val before = put(stream, s"some-${System.nanoTime()}", 10)
    running(load(stream), at)(log.add)(_ => eventually(log.texts should contain allElementsOf before))
    at
  }

  private def editOffsets(checkpoint: Path, edit: String => String): Unit =
    logEntries(checkpoint.resolve("offsets"), 0).foreach { file =>
      if (file.getFileName.toString.startsWith(".")) Files.delete(file)
      else {
        val lines = Files.readString(file).linesIterator.toVector
        Files.writeString(file, (lines.init :+ edit(lines.last)).mkString("\n"))
      }
    }
}
