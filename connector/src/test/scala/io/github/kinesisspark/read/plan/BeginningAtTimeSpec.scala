package io.github.kinesisspark.read.plan

import org.scalatest.LoneElement
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.reader.{KinesisRecord, RecordBuffer, RecordTotals}

/** Records may arrive with earlier times than those before them. So a shard's first record since a time is one for a reader that was there when it came,
  * and another one for a reader that comes later.
  */
class BeginningAtTimeSpec extends AnyFunSpec with Matchers with AfterNumbers with LoneElement {
  private val time    = AtTimestamp(5000)
  private val lineage = Lineage(Vector(Shard(shardId(0), Nil, HashKeyRange.all, closed = false)))

  private def planning(start: KinesisOffset) =
    PlanningState(start, Map(stream -> PlanningState.Stream(1L, lineage, Vector(shardId(0) -> time))))

  private def written(offset: KinesisOffset) = OffsetJson.read(OffsetJson.write(offset))
  private def status(first: Long, end: Long) = emptyStatus(shard(0)).copy(
    base = time,
    first = Some(number(first)),
    position = after(end),
    records = end - first + 1,
    bytes = 100,
    newestArrival = Some(4999)
  )
  private val records = Array(7L, 8L).map(n => KinesisRecord(number(n), "key", new Array[Byte](100), 4000 + n))
  private def slices(planning: PlanningState, status: ReaderStatus) =
    PlanningView
      .withoutReaders(planning.reading)
      .copy(statuses = Map(shard(0) -> status))
      .admit(Admission.Limits.none, 0)
      .slices

  describe("a batch with a shard that begins at a time") {
    it("begins with the record that its reader has seen first, also when it runs again") {
      val begun  = planning(KinesisOffset.initial)
      val slices = this.slices(begun, status(first = 7, end = 9))
      val end    = begun.beginningWith(slices.firsts).end(slices.positions)
      KinesisOffset.initial.rangesTo(written(end)).loneElement shouldBe
        ShardRange(shard(0), AtSequenceNumber(number(7)), after(9))
    }

    it("does so where batches before had nothing of the shard") {
      val idle   = planning(KinesisOffset.initial).end(Map.empty)
      val begun  = planning(idle)
      val slices = this.slices(begun, status(first = 7, end = 9))
      val end    = begun.beginningWith(slices.firsts).end(slices.positions)
      idle.progress(shard(0)).map(_.position) shouldBe Some(time)
      idle.rangesTo(written(end)).loneElement shouldBe ShardRange(shard(0), AtSequenceNumber(number(7)), after(9))
    }

    it("leaves the time in the offset where it takes nothing of the shard") {
      val begun   = planning(KinesisOffset.initial)
      val nothing = status(first = 7, end = 9).copy(position = time, first = None, records = 0, bytes = 0)
      val slices  = this.slices(begun, nothing)
      val end     = begun.beginningWith(slices.firsts).end(slices.positions)
      end.progress(shard(0)) shouldBe Some(ShardProgress(time, firstPosition = Some(time)))
    }

    it("can be cut into tasks within its beginning and its end") {
      val buffer = RecordBuffer.at(time).append(records, RecordTotals.of(records), after(8))
      val held   = statusOf(shard(0), buffer, BoundarySpacing(32, None)).copy(first = buffer.first)
      val slices = this.slices(planning(KinesisOffset.initial), held)
      val range  = ShardRange(shard(0), AtSequenceNumber(number(7)), after(8))
      slices.split(Seq(range), leastTasks = 2).map(_._1) shouldBe Seq(
        range.copy(end = after(7)),
        range.copy(start = after(7))
      )
    }
  }

  describe("the batch after it") {
    it("begins after its end, and its offset names the shard's first record no more") {
      val first =
        planning(KinesisOffset.initial).beginningWith(Map(shard(0) -> number(7))).end(Map(shard(0) -> after(9)))
      val next = planning(first)
      next.reading shouldBe Map(shard(0) -> after(9))
      next.end(Map(shard(0) -> after(12))).progress(shard(0)) shouldBe Some(ShardProgress(after(12)))
    }
  }

  describe("a batch up to a stop") {
    it("reads from the record that was seen when the stop was looked for") {
      val bounded = planning(KinesisOffset.initial).beginningWith(Map(shard(0) -> number(7)))
      bounded.reading shouldBe Map(shard(0) -> AtSequenceNumber(number(7)))
      bounded.starts shouldBe Map(shard(0) -> time)
    }
  }
}
