package io.github.kinesisspark.read.reader

import scala.concurrent.duration._

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.EventuallyInAMinute
import io.github.kinesisspark.Generators._
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.plan.{BoundarySpacing, ReaderFailure}
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.read.plan.Admission.Allotment
import io.github.kinesisspark.runtime.VirtualTime

class ReaderSpec
    extends AnyFunSpec
    with Matchers
    with AfterNumbers
    with ScalaCheckPropertyChecks
    with EventuallyInAMinute {
  private def record(n: Long) = KinesisRecord(number(n), "key", new Array[Byte](100), 1000 + n)

  describe("a shard reader") {
    final class Setting(share: Long = 10000, stop: Option[ShardPosition] = None, start: ShardPosition = after(0)) {
      val time = new VirtualTime
      import time.runtime

      val memory     = new MemoryBudget(_.run())
      val source     = memory.join(share / 3 * 4 + 4)
      val publishers = new ScriptedPublishers
      var news       = 0
      val reader     = new ShardReader(shard(0), start, stop, publishers, source, _ => (), () => news += 1)
      def publisher: ScriptedPublishers#Scripted = publishers.last

      /** As the publisher does it: the memory is taken before the records come. */
      def bring(position: ShardPosition, records: KinesisRecord*): Unit = {
        reader.memory.take(_ => heapOf(records: _*))(_ => ())
        publisher.bring(position, 0, records: _*)
      }
    }

    it("that can't be opened takes no share of the memory from others") {
      val budget = new MemoryBudget(_.run())
      val source = budget.join(800)
      val other  = source.account()
      an[IllegalStateException] should be thrownBy
        new ShardReader(
          shard(0),
          after(0),
          None,
          (_, _, _) => throw new IllegalStateException,
          source,
          _ => (),
          () => ()
        )
      other.share shouldBe 600
    }

    it("requests one delivery at a time, and the next when one has arrived") {
      val s = new Setting
      s.reader.demand()
      s.reader.demand()
      s.publisher.requests shouldBe 1
      s.bring(after(1), record(1))
      s.publisher.requests shouldBe 2
      s.news shouldBe 1
    }

    it("requests nothing beyond its share of memory, and continues after a batch has freed some") {
      val s = new Setting(share = heapOf(record(1)))
      s.reader.demand()
      s.bring(after(1), record(1))
      s.publisher.requests shouldBe 1
      s.reader.dropTo(after(1)) shouldBe true
      s.reader.demand()
      s.publisher.requests shouldBe 2
      s.memory.used shouldBe 0
    }

    it("is opened with its first answer, a failure or after two seconds") {
      val (answered, failed, silent) = (new Setting, new Setting, new Setting)
      Seq(answered, failed, silent).map(_.reader.status.isOpened) shouldBe Seq(false, false, false)
      answered.bring(after(0))
      failed.publisher.failNotFound()
      Seq(answered, failed, silent).map(_.reader.status.isOpened) shouldBe Seq(true, true, false)
      silent.time.pass(2.seconds)
      silent.reader.status.isOpened shouldBe false
      silent.reader.status.later(millis = 1).isOpened shouldBe true
    }

    it("reports news once: a first answer, records, the shard's end, a failure, a wait for memory") {
      val s = new Setting
      s.reader.takeUnreported() shouldBe false
      s.reader.begun()
      s.reader.takeUnreported() shouldBe true
      s.bring(after(0))
      s.reader.takeUnreported() shouldBe false
      s.bring(after(1), record(1))
      s.reader.takeUnreported() shouldBe true
      s.reader.takeUnreported() shouldBe false
      s.reader.memory.take(_ / 4)(_ => ())
      s.memory.join(0).account().take(_ => s.memory.capacity - s.memory.used)(_ => ())
      s.reader.memory.take(_ => 1)(_ => ())
      s.reader.takeUnreported() shouldBe true
      s.bring(ShardEnd)
      s.reader.takeUnreported() shouldBe true
      s.publisher.fail("KINESIS_ACCESS_DENIED")
      s.reader.takeUnreported() shouldBe true
    }

    it("reports its first record while it begins at a time, and gives the range that begins with that record") {
      val s = new Setting(start = AtTimestamp(5000))
      s.reader.demand()
      s.reader.status.first shouldBe None
      s.bring(after(8), record(7), record(8))
      s.reader.status.first shouldBe Some(number(7))
      s.reader.slice(AtSequenceNumber(number(7)), after(8)).map(_.map(_.sequenceNumber).toVector) shouldBe
        Some(Vector(number(7), number(8)))
      s.reader.dropTo(after(7)) shouldBe true
      s.reader.status.first shouldBe None
    }

    it("reports what comes after a batch that began, and keeps its records until it is committed") {
      val s      = new Setting
      def status = s.reader.status(BoundarySpacing(32, None))
      def ends   = status.boundaries.all.map(_.last)
      s.reader.demand()
      s.bring(after(3), record(1), record(2), record(3))
      s.reader.beginBatch(after(2))
      (status.base, status.position, status.records, ends) shouldBe ((after(2), after(3), 1, Vector(number(3))))
      s.bring(after(4), record(4))
      (status.base, status.position, status.records, ends) shouldBe ((
        after(2),
        after(4),
        2,
        Vector(number(3), number(4))
      ))
      s.reader.held shouldBe 4 * heapOf(record(1))
      s.reader.slice(after(0), after(2)).map(_.size) shouldBe Some(2)
      s.reader.commit() shouldBe None
      s.reader.slice(after(0), after(2)) shouldBe None
      (status.base, status.records) shouldBe ((after(2), 2))
    }

    it("that is behind the end of a batch that began reports where it is, and from that end on once it is there") {
      val s = new Setting
      s.reader.demand()
      s.bring(after(1), record(1))
      s.reader.beginBatch(after(3))
      s.reader.status.base shouldBe after(0)
      s.bring(after(4), record(2), record(3), record(4))
      s.reader.status.base shouldBe after(3)
      s.reader.status.records shouldBe 1
    }

    it("returns where to open anew if it isn't at the end of the committed batch") {
      val s = new Setting
      s.reader.commit() shouldBe None
      s.reader.beginBatch(after(3))
      s.reader.commit() shouldBe Some(after(3))
    }

    it(
      "forgets what was planned once an order names the next batch's start: the order that commits may have been lost"
    ) {
      for (start <- Seq(after(0), after(1), after(2))) {
        val s = new Setting
        s.reader.demand()
        s.bring(after(3), record(1), record(2), record(3))
        s.reader.beginBatch(after(1))
        s.reader.startAt(start) shouldBe true
        s.reader.status.base shouldBe start
        s.reader.commit() shouldBe None
        s.reader.status.base shouldBe start
      }
    }

    it("keeps the end that was planned while a task takes records before it") {
      val s = new Setting
      s.reader.demand()
      s.bring(after(1), record(1))
      s.reader.beginBatch(after(2))
      s.bring(after(3), record(2), record(3))
      s.reader.advance(after(1)) should not be empty
      s.reader.commit() shouldBe None
      s.reader.status.base shouldBe after(2)
    }

    it("keeps a batch's records until it is committed") {
      val s = new Setting
      s.reader.demand()
      s.bring(after(2), record(1), record(2))
      s.reader.status(BoundarySpacing(32, None)).cut(Allotment(1, Long.MaxValue)).position shouldBe after(1)
      s.reader.slice(after(0), after(1)).map(_.size) shouldBe Some(1)
      s.reader.slice(after(0), after(1)).map(_.size) shouldBe Some(1)
      s.reader.dropTo(after(1)) shouldBe true
      s.reader.slice(after(0), after(1)) shouldBe None
      s.reader.status.records shouldBe 1
    }

    it("reports the boundaries of what it holds, also after it was appended to and dropped from") {
      val s    = new Setting(share = 1 << 20)
      def ends = s.reader.status(BoundarySpacing(32, None)).boundaries.all.map(_.last)
      ends shouldBe Vector.empty
      s.reader.demand()
      s.bring(after(2), record(1), record(2))
      ends shouldBe Vector(number(1), number(2))
      s.bring(after(3), record(3))
      ends shouldBe Vector(number(1), number(2), number(3))
      s.reader.dropTo(after(1))
      ends shouldBe Vector(number(2), number(3))
      s.reader.status(BoundarySpacing(1, None)).boundaries.all.map(_.last) shouldBe Vector(number(2), number(3))
      s.reader.status(BoundarySpacing(1, None)).boundaries.all.map(_.records) shouldBe Vector(1, 2)
    }

    it("reports no boundaries where nothing is cut") {
      val s = new Setting
      s.reader.demand()
      s.bring(after(2), record(1), record(2))
      s.reader.status(BoundarySpacing.none).boundaries.all shouldBe empty
    }

    it("requests nothing after the shard's end or a failure, and reports either") {
      val ended = new Setting
      ended.reader.demand()
      ended.bring(ShardEnd, record(1))
      ended.publisher.requests shouldBe 1
      ended.reader.status.position shouldBe ShardEnd
      val failed = new Setting
      failed.reader.demand()
      failed.publisher.fail("KINESIS_ACCESS_DENIED")
      failed.reader.demand()
      failed.publisher.requests shouldBe 1
      failed.reader.status.failure shouldBe Some(
        ReaderFailure(FailureReason.Other, "KINESIS_ACCESS_DENIED", "as planned")
      )
    }

    it("frees all memory when closed, also of records that arrive later") {
      val s = new Setting
      s.reader.demand()
      s.bring(after(1), record(1))
      s.reader.close()
      s.publisher.closed shouldBe true
      s.memory.used shouldBe 0
      s.bring(after(2), record(2))
      s.memory.used shouldBe 0
      s.reader.status.records shouldBe 0
    }

    it("requests an answer as long as one more of the size it asks for fits into its share") {
      val s = new Setting(share = 14L << 20)
      val r = KinesisRecord(number(1), "key", new Array[Byte](4 << 20), 1000)
      s.reader.demand()
      (1 to 2).foreach(_ => s.publisher.bring(after(1), 0, r))
      s.publisher.requests shouldBe 3
      s.publisher.bring(after(1), 0, r)
      s.publisher.requests shouldBe 3
    }

    it("reports that it is starved if it has no records and waits for memory") {
      val s     = new Setting
      val other = s.source.account()
      other.take(_ => s.memory.capacity)(_ => ())
      s.reader.status.starved shouldBe false
      s.reader.memory.take(_ => 1)(_ => ())
      s.reader.status.starved shouldBe true
    }

    it("is not starved while another reader waits for memory and it does not") {
      val s     = new Setting
      val other = s.source.account()
      s.reader.memory.take(_ / 4)(_ => ())
      s.reader.demand()
      other.take(_ => 1 << 20)(_ => ())
      other.isWaiting shouldBe true
      s.reader.status.starved shouldBe false
    }

    for (stop <- Seq(after(2), AtSequenceNumber(number(2))))
      it(
        s"that stops at ${ShardPosition.encode(stop)} buffers and requests nothing beyond it"
      ) {
        val within = if (stop == after(2)) Seq(record(1), record(2)) else Seq(record(1))
        val s      = new Setting(stop = Some(stop))
        s.reader.demand()
        s.reader.status.isComplete shouldBe false
        s.bring(after(4), record(1), record(2), record(3), record(4))
        s.publisher.requests shouldBe 1
        s.reader.status.position shouldBe stop
        s.reader.status.records shouldBe within.size
        s.reader.status.isComplete shouldBe true
        s.memory.used shouldBe heapOf(within: _*)
        s.reader.dropTo(stop) shouldBe true
        s.reader.demand()
        s.publisher.requests shouldBe 1
        s.reader.status.isSettled(withinMillis = 0, hasStop = true) shouldBe true
      }

    for (stop <- Seq(after(2), AtSequenceNumber(number(2))))
      it(s"that stops at ${ShardPosition.encode(stop)} gives no range up to there once that record is gone") {
        val s = new Setting(stop = Some(stop))
        s.reader.demand()
        s.bring(after(9), record(1), record(9))
        s.reader.status.isComplete shouldBe true
        s.reader.slice(after(0), stop) shouldBe None
        s.reader.slice(after(0), after(1)).map(_.size) shouldBe Some(1)
      }

    for (stop <- Seq(after(2), AtSequenceNumber(number(2))))
      it(
        s"that comes to the shard's end before ${ShardPosition.encode(stop)} stops there all the same, and gives no range up to there"
      ) {
        val s = new Setting(stop = Some(stop))
        s.reader.demand()
        s.bring(ShardEnd, record(1))
        s.reader.status.position shouldBe stop
        s.reader.slice(after(0), stop) shouldBe None
      }

    it("that waits for a record to stop at has lost it after 15 seconds of answers that nothing more is there") {
      val s = new Setting(stop = Some(after(2)))
      s.reader.demand()
      s.bring(after(0))
      s.time.pass(14.seconds)
      s.bring(after(0))
      s.reader.status.hasLostStop shouldBe false
      s.time.pass(1.second)
      s.bring(after(0))
      s.reader.status.hasLostStop shouldBe true
      s.bring(after(2), record(2))
      s.reader.status.copy(isOnItsWay = false).hasLostStop shouldBe false
    }

    it("that stops at a record is not settled by an empty answer before that record") {
      val s = new Setting(stop = Some(after(2)))
      s.reader.demand()
      s.bring(after(0))
      s.reader.status.isSettled(withinMillis = 60000, hasStop = true) shouldBe false
      s.bring(after(2), record(1), record(2))
      s.reader.status.isSettled(withinMillis = 0, hasStop = true) shouldBe true
    }

    it("is settled while it waits for memory that others hold, unless it is to come to a stop") {
      for (stop <- Seq(None, Some(after(2)))) {
        val s = new Setting(stop = stop)
        s.source.account().take(_ => s.memory.capacity)(_ => ())
        s.reader.memory.take(_ => 1)(_ => ())
        s.reader.status.isSettled(withinMillis = 0, hasStop = stop.nonEmpty) shouldBe stop.isEmpty
      }
    }

    it("is settled only by an answer requested after the question") {
      val s = new Setting
      s.reader.demand()
      s.bring(after(0))
      val later = s.reader.status.later(millis = 60000)
      later.isSettled(withinMillis = 60000, hasStop = false) shouldBe false
      later.isSettled(withinMillis = 90000, hasStop = false) shouldBe true
    }
  }

  describe("the arrival time that a reader has reached") {
    def totals(records: KinesisRecord*) = RecordTotals.of(records.toArray)

    val start = ReadingTime.unknown
    val none  = totals()

    it("is unknown before the first record, then the latest arrival") {
      start.after(none, 5000).reached shouldBe None
      start.after(totals(record(7), record(5)), 5000).reached shouldBe Some(1007)
    }

    it("advances with empty answers that are less behind, and never goes back") {
      val moved = start.after(totals(record(0)), 5000).after(none, 4000)
      moved.reached shouldBe Some(2000)
      moved.after(none, 4500).reached shouldBe Some(2000)
      moved.after(totals(record(5000)), 0).reached shouldBe Some(6000)
    }
  }

  describe("the consumer of a range") {
    final class Setting(
        end: ShardPosition,
        failOnDataLoss: Boolean = true,
        start: ShardPosition = after(0),
        preferably: Option[ScriptedPublishers] = None,
        live: Option[ShardReader] = None,
        doubtAfter: FiniteDuration = ShardReader.DoubtAfter,
        isListed: Boolean = false
    ) {
      val budget           = new MemoryBudget(_.run())
      private val member   = budget.join(1 << 20)
      val publishers       = new ScriptedPublishers
      var recordsReadAgain = 0

      private object sources extends ShardConsumer.Sources {
        private def open(range: ShardRange, by: ScriptedPublishers) =
          new ShardReader(range.shard, range.start, Some(range.end), by, member, _ => (), () => ())
        override def first(range: ShardRange) = live
          .map(ShardConsumer.Source.live)
          .orElse(preferably.map(by => ShardConsumer.Source.own(open(range, by))))
          .getOrElse(polling(range))
        override def polling(range: ShardRange)       = ShardConsumer.Source.poller(open(range, publishers))
        override def isGone(shard: ShardKey): Boolean = !isListed
        override def readAgain(shard: ShardKey, records: Array[KinesisRecord]): Unit =
          recordsReadAgain += records.length
      }
      private val wakeUp = new WakeUp
      val consumer = new ShardConsumer(ShardRange(shard(0), start, end), sources, failOnDataLoss, wakeUp, doubtAfter)

      /** As a task takes them. */
      object records extends Iterator[KinesisRecord] {
        override def hasNext: Boolean = {
          while (!consumer.isReady) wakeUp.await()
          consumer.hasNext
        }
        override def next(): KinesisRecord = if (hasNext) consumer.next() else Iterator.empty.next()
      }
      def numbers: Seq[SequenceNumber] = records.map(_.sequenceNumber).toSeq
    }

    it("ends with the last record of its range and ignores later records") {
      val s = new Setting(after(3))
      s.publishers.last.bring(after(1), 50, record(1))
      s.publishers.last.bring(after(9), 0, record(2), record(3), record(4), record(9))
      s.numbers shouldBe Seq(1, 2, 3).map(n => number(n.toLong))
      s.publishers.last.closed shouldBe true
    }

    it("continues after empty answers while there is more to come") {
      val s = new Setting(after(1))
      s.publishers.last.bring(after(0), 1000)
      s.publishers.last.bring(after(1), 0, record(1))
      s.numbers shouldBe Seq(number(1))
    }

    it("continues after one empty answer that falsely reports no more records") {
      val s = new Setting(after(1))
      s.publishers.last.bring(after(0), 0)
      s.publishers.last.bring(after(1), 0, record(1))
      s.numbers shouldBe Seq(number(1))
    }

    it("takes one empty answer for nothing, however long no other one comes") {
      val s = new Setting(after(1), doubtAfter = 1.nano)
      s.publishers.last.bring(after(0), 0)
      s.consumer.isReady shouldBe false
      s.publishers.last.bring(after(1), 0, record(1))
      s.numbers shouldBe Seq(number(1))
    }

    it("reads a closed shard to its end") {
      val s = new Setting(ShardEnd)
      s.publishers.last.bring(after(1), 10, record(1))
      s.publishers.last.bring(ShardEnd, 0, record(2))
      s.numbers shouldBe Seq(number(1), number(2))
    }

    it("fails with data loss, shard and range if the last record of its range is gone") {
      for (
        bring <- Seq[ScriptedPublishers#Scripted => Unit](
          _.bring(after(9), 0, record(9)),
          _.bring(after(0), 0),
          _.bring(ShardEnd, 0),
          _.failNotFound()
        )
      ) {
        // Nobody waits here for what a second answer would say.
        val s = new Setting(after(3), doubtAfter = Duration.Zero)
        bring(s.publishers.last)
        val failure = the[KinesisException] thrownBy s.numbers
        failure.errorClass shouldBe "KINESIS_DATA_LOSS"
        failure.getMessage should (include("shardId-000000000000") and include(number(3).text))
      }
    }

    it(
      "says that nothing shows whether records are lost, if a shard is gone of which the end alone is known to be left"
    ) {
      for ((start, isSure) <- Seq(after(1) -> false, AtSequenceNumber(number(1)) -> true)) {
        val s = new Setting(ShardEnd, start = start)
        s.publishers.last.failNotFound()
        val failure = the[KinesisException] thrownBy s.numbers
        failure.errorClass shouldBe "KINESIS_DATA_LOSS"
        failure.getMessage.contains("if there were any") shouldBe !isSure
      }
    }

    it("stops before an exclusive end, and fails with data loss if the record there is gone") {
      val s = new Setting(AtSequenceNumber(number(3)))
      s.publishers.last.bring(after(4), 0, record(1), record(2), record(3), record(4))
      s.numbers shouldBe Seq(number(1), number(2))
      val gone = new Setting(AtSequenceNumber(number(3)))
      gone.publishers.last.bring(after(4), 0, record(1), record(4))
      (the[KinesisException] thrownBy gone.numbers).errorClass shouldBe "KINESIS_DATA_LOSS"
    }

    it("fails with data loss if the record at an inclusive start is gone") {
      val s = new Setting(after(3), start = AtSequenceNumber(number(1)))
      s.publishers.last.bring(after(3), 0, record(2), record(3))
      (the[KinesisException] thrownBy s.numbers).errorClass shouldBe "KINESIS_DATA_LOSS"
    }

    for (start <- Seq(AtSequenceNumber(number(1)), Within(number(1), 2)))
      it(s"fails with data loss if nothing is left from ${ShardPosition.encode(start)} to the shard's end") {
        val s = new Setting(ShardEnd, start = start)
        s.publishers.last.bring(ShardEnd, 0)
        (the[KinesisException] thrownBy s.numbers).errorClass shouldBe "KINESIS_DATA_LOSS"
      }

    it("continues by polling if its consumer is deleted, taken over or silent, or an Error has ended its reader") {
      val silent: ScriptedPublishers#Scripted => Unit = s => s.bring(after(1), 0)
      for (
        trouble <- Seq[ScriptedPublishers#Scripted => Unit](
          _.failNotFound(),
          _.fail("KINESIS_CONSUMER_IN_USE", FailureReason.ConsumerTaken),
          _.fail("KINESIS_CALL_FAILED", FailureReason.BrokenJvm),
          silent
        )
      ) {
        val fanOut = new ScriptedPublishers
        val s      = new Setting(after(2), preferably = Some(fanOut), doubtAfter = Duration.Zero)
        s.publishers.opened shouldBe empty
        fanOut.last.bring(after(1), 10, record(1))
        trouble(fanOut.last)
        s.records.next().sequenceNumber shouldBe number(1)
        val brought = scala.concurrent.Future(s.records.hasNext)(scala.concurrent.ExecutionContext.global)
        while (s.publishers.opened.isEmpty && !brought.isCompleted) Thread.onSpinWait()
        s.publishers.last.position shouldBe after(1)
        s.publishers.last.bring(after(2), 0, record(2))
        scala.concurrent.Await.result(brought, 1.minute) shouldBe true
        s.numbers shouldBe Seq(number(2))
        fanOut.last.closed shouldBe true
      }
    }

    it("waits through empty events of a subscription for the range's last record") {
      val fanOut = new ScriptedPublishers
      val s      = new Setting(after(1), preferably = Some(fanOut))
      fanOut.last.bring(after(0), 0)
      fanOut.last.bring(after(1), 0, record(1))
      s.numbers shouldBe Seq(number(1))
    }

    it("with failOnDataLoss=false skips records that are gone") {
      val s = new Setting(after(3), failOnDataLoss = false)
      s.publishers.last.bring(after(9), 0, record(2), record(9))
      s.numbers shouldBe Seq(number(2))
    }

    it("fails with the reader's error if its shard is not found and still listed, also with failOnDataLoss=false") {
      for (failOnDataLoss <- Seq(true, false)) {
        val s = new Setting(after(3), failOnDataLoss, isListed = true)
        s.publishers.last.failNotFound()
        (the[KinesisException] thrownBy s.numbers).errorClass shouldBe "KINESIS_NOT_FOUND"
      }
    }

    it("with failOnDataLoss=false ends where its shard is neither found nor listed") {
      val s = new Setting(after(3), failOnDataLoss = false)
      s.publishers.last.failNotFound()
      s.numbers shouldBe empty
    }

    it("fails with the cause of any other failure, also with failOnDataLoss=false") {
      val s = new Setting(after(3), failOnDataLoss = false)
      s.publishers.last.fail("KINESIS_ACCESS_DENIED")
      the[KinesisException] thrownBy s.numbers should have message "[KINESIS_ACCESS_DENIED] as planned " +
        "(See docs/reference/errors.md#kinesis_access_denied)"
    }

    describe("from a live reader") {
      def source = new MemoryBudget(_.run()).join(1 << 20)

      def live(source: MemoryBudget.Member, by: ScriptedPublishers) =
        new ShardReader(shard(0), after(0), None, by, source, _ => (), () => ())

      it("takes what it holds and reads on through it beyond the buffer, up to the end") {
        val by     = new ScriptedPublishers
        val reader = live(source, by)
        reader.demand()
        by.last.bring(after(1), 50, record(1))
        val s = new Setting(after(3), live = Some(reader))
        s.records.next().sequenceNumber shouldBe number(1)
        by.last.bring(after(4), 0, record(2), record(3), record(4))
        s.numbers shouldBe Seq(number(2), number(3))
        s.publishers.opened shouldBe empty
        s.recordsReadAgain shouldBe 0
        by.last.closed shouldBe false
        reader.dropTo(after(3)) shouldBe true
        reader.status.records shouldBe 1
      }

      describe("while readers hold more than they may") {
        final class Overdrawn(until: ShardPosition, isInBatch: Boolean = true) {
          val by     = new ScriptedPublishers
          val budget = new MemoryBudget(_.run())
          val member = budget.join(1000)
          member.account().take(identity)(_ => ())
          val reader = live(member, by)
          if (isInBatch) reader.beginBatch(after(3))
          val s            = new Setting(after(3), live = Some(reader))
          private val some = (1L to 4L).map(record).filter(r => !until.isBefore(AfterSequenceNumber(r.sequenceNumber)))
          reader.memory.take(_ => heapOf(some: _*))(_ => ())
          reader.memory.overdraw()
          by.last.bring(until, 0, some: _*)
          s.numbers shouldBe Seq(number(1), number(2), number(3))
        }

        it("leaves it without memory, to begin anew as the batch is committed") {
          val o = new Overdrawn(after(4))
          o.budget.used shouldBe 1000
          o.by.last.closed shouldBe true
          o.reader.startAt(after(3)) shouldBe false
          o.reader.commit() shouldBe Some(after(3))
        }

        it("leaves it open where nothing comes after its range") {
          val o = new Overdrawn(after(3))
          o.budget.used shouldBe 1000
          o.by.last.closed shouldBe false
          o.reader.commit() shouldBe None
        }

        it("leaves it open where the batch is committed already") {
          new Overdrawn(after(4), isInBatch = false).by.last.closed shouldBe false
        }
      }

      it("stops before an exclusive end, where the reader continues with the next batch") {
        val by     = new ScriptedPublishers
        val reader = live(source, by)
        val end    = AtSequenceNumber(number(3))
        val s      = new Setting(end, live = Some(reader))
        by.last.bring(after(4), 0, record(1), record(2), record(3), record(4))
        s.numbers shouldBe Seq(number(1), number(2))
        reader.dropTo(end) shouldBe true
        reader.status.records shouldBe 2
      }

      it("reads the rest by polling if another task has taken it further") {
        val by     = new ScriptedPublishers
        val reader = live(source, by)
        val s      = new Setting(after(3), live = Some(reader))
        by.last.bring(after(1), 0, record(1))
        s.records.next().sequenceNumber shouldBe number(1)
        by.last.bring(after(3), 0, record(2), record(3))
        reader.dropTo(after(2))
        val rest = scala.concurrent.Future(s.numbers)(scala.concurrent.ExecutionContext.global)
        eventually(s.publishers.opened should not be empty)
        s.publishers.last.position shouldBe after(1)
        s.publishers.last.bring(after(3), 0, record(2), record(3))
        scala.concurrent.Await.result(rest, 1.minute) shouldBe Seq(number(2), number(3))
        s.recordsReadAgain shouldBe 2
      }

      it("reads the rest by polling if the reader is closed while it waits") {
        val by     = new ScriptedPublishers
        val reader = live(source, by)
        val s      = new Setting(after(1), live = Some(reader))
        val rest   = scala.concurrent.Future(s.numbers)(scala.concurrent.ExecutionContext.global)
        reader.close()
        eventually(s.publishers.opened should not be empty)
        s.publishers.last.bring(after(1), 0, record(1))
        scala.concurrent.Await.result(rest, 1.minute) shouldBe Seq(number(1))
      }
    }
  }

  describe("the polling interval") {
    val atFirst = PollingPace.of(5, isAws = false)

    /** After a call at once that the service has counted at once. */
    def wait(pace: PollingPace) = pace.due(asked = 0, counted = 0).nanos

    it("stays between that of callsPerSecond and about one second if there are no failures") {
      forAll(Gen.choose(1, 5), Gen.listOf(Gen.oneOf(0, 1, 2))) { (most, steps) =>
        val pace = steps.foldLeft(PollingPace.of(most, isAws = false)) {
          case (p, 0) => p.afterRecords(1 << 20, behind = false)
          case (p, 1) => p.afterEmpty(behind = true, readers = 250)
          case (p, _) => p.afterEmpty(behind = false, readers = 250)
        }
        pace.interval should (be >= 1.second / most.toLong and be <= 1050.millis)
      }
    }

    it("grows to one second on an empty shard, and returns to full speed with the first record") {
      val empty = Iterator.iterate(atFirst)(_.afterEmpty(behind = false, readers = 1)).take(20).toVector
      empty.foreach(pace => pace.interval should be <= (pace.quiet / 4).max(210.millis))
      empty.last.interval shouldBe 1.second
      empty.last.afterRecords(10, behind = false).interval shouldBe 210.millis
      empty.last.afterRecords(10, behind = false).afterEmpty(behind = false, readers = 1).interval shouldBe 210.millis
    }

    it("stays short after an empty answer while the service reports more records") {
      atFirst.afterEmpty(behind = true, readers = 1).interval shouldBe 210.millis
    }

    it(
      "adds up to 250 calls per second over an executor's idle shards, and is at most five seconds"
    ) {
      forAll(Gen.choose(250, 1250)) { readers =>
        val idle = Iterator.iterate(atFirst)(_.afterEmpty(behind = false, readers)).drop(40).next()
        (readers.seconds / idle.interval).toInt should (be >= 249 and be <= 251)
      }
      Iterator.iterate(atFirst)(_.afterEmpty(behind = false, 10000)).drop(40).next().interval shouldBe 5.seconds
    }

    it("is that of callsPerSecond plus the wait after a failure, and returns to full speed with the first record") {
      val failed = atFirst.afterFailure(3.seconds)
      failed.interval shouldBe 3210.millis
      failed.afterRecords(10 << 20, behind = false).interval shouldBe 210.millis
    }

    it("follows the bytes of the last answer at 2 MiB/s once the service has refused a call") {
      val metered = atFirst.afterThrottling(1.second, now = 0)
      wait(metered.afterRecords(10 << 20, behind = true)) shouldBe 5005.millis
      wait(metered.afterRecords(1000, behind = true)) shouldBe 210.millis
    }

    it(
      "follows the bytes of the last answer at 2 MiB/s where AWS is called, which refuses no call of a sole reader then"
    ) {
      val pace = PollingPace.of(5, isAws = true)
      wait(pace.afterRecords(4 << 20, behind = true)) shouldBe 2005.millis
      wait(pace.afterRecords(1000, behind = true)) shouldBe 210.millis
      wait(pace.afterRecords(4 << 20, behind = true).afterEmpty(behind = true, readers = 1)) shouldBe 210.millis
    }

    it("is that of the bytes since an answer began, and that of callsPerSecond since its call did") {
      val pace = PollingPace.of(5, isAws = true)
      pace.afterRecords(1 << 20, behind = true).due(asked = 0, counted = 100.millis.toNanos).nanos shouldBe 605.millis
      pace.afterRecords(1000, behind = true).due(asked = 0, counted = 100.millis.toNanos).nanos shouldBe 210.millis
    }

    it("leaves a tenth to others for a minute after two refusals that one answer can't explain") {
      def refusedAt(times: FiniteDuration*)(calls: Int) =
        times.foldLeft(PollingPace.of(calls, isAws = true)) { (pace, at) =>
          pace.afterThrottling(Duration.Zero, at.toNanos).afterRecords((18 << 20) / 10, behind = true)
        }
      def after(counted: FiniteDuration, pace: PollingPace) =
        (pace.due(counted.toNanos, counted.toNanos).nanos - counted).toMillis
      val atOnce = 904
      val later  = 1004
      after(10.seconds, refusedAt(0.seconds)(calls = 5)) shouldBe atOnce
      after(10.seconds, refusedAt(0.seconds, 5.seconds)(calls = 5)) shouldBe atOnce
      after(10.seconds, refusedAt(0.seconds, 10.seconds)(calls = 5)) shouldBe later
      after(69.seconds, refusedAt(0.seconds, 4.seconds, 10.seconds)(calls = 5)) shouldBe later
      after(70.seconds, refusedAt(0.seconds, 10.seconds)(calls = 5)) shouldBe atOnce
      after(60.seconds, refusedAt(0.seconds, 60.seconds)(calls = 5)) shouldBe atOnce
      after(10.seconds, refusedAt(0.seconds, 10.seconds)(calls = 4)) shouldBe after(
        10.seconds,
        refusedAt(0.seconds)(calls = 4)
      )
    }

    it("can be that of an answer of a GiB") {
      wait(PollingPace.of(1, isAws = true).afterRecords(1L << 30, behind = true)) shouldBe 2560025.millis
    }

    it("leaves others the same share of the bytes as of the calls") {
      wait(PollingPace.of(4, isAws = true).afterRecords(4 << 20, behind = true)) shouldBe 2506250.micros
      wait(PollingPace.of(1, isAws = true).afterRecords(4 << 20, behind = true)) shouldBe 10025.millis
    }

    it("is none after an answer above 2 MiB/s with more to come, until the server, which isn't AWS, refuses a call") {
      val above = (2 << 20) / 4
      atFirst.afterRecords(above, behind = true).interval shouldBe Duration.Zero
      atFirst.afterRecords(above, behind = false).interval shouldBe 210.millis
      atFirst.afterRecords(1000, behind = true).interval shouldBe 210.millis
      val refused = atFirst.afterRecords(above, behind = true).afterThrottling(1.second, now = 0)
      refused.interval shouldBe 1210.millis
      wait(refused.afterRecords(above, behind = true)) shouldBe 255.millis
    }

    it("waits for the bytes of the last answer after the first refusal, and no more after another") {
      val refused = atFirst.afterRecords(10 << 20, behind = true).afterThrottling(100.millis, now = 0)
      wait(refused) shouldBe 5005.millis
      val later = 5005.millis.toNanos
      refused.afterThrottling(100.millis, now = later).due(asked = later, counted = 0).nanos shouldBe 5315.millis
    }

    it("is that of a callsPerSecond below the service's limit, however much an answer holds") {
      PollingPace.of(4, isAws = false).afterRecords(10 << 20, behind = true).interval shouldBe 262500.micros
    }
  }
}
