package io.github.kinesisspark.read.reader

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.position.ShardPosition._

class RangeEndsSpec extends AnyFunSpec with Matchers {
  private def records(numbers: Int*) =
    numbers.map(n => KinesisRecord(number(n.toLong), "key", Array.emptyByteArray, 0)).toArray
  private def reach(end: ShardPosition, numbers: Int*)(until: ShardPosition) =
    RangeEnds.reach(end, records(numbers: _*), until)
  private def before(end: ShardPosition) =
    RangeEnds.before(end, records(1, 3, 5, 7)).map(_.sequenceNumber).toSeq

  private val ends = Seq(AfterSequenceNumber(number(5)), Within(number(5), 1), AtSequenceNumber(number(5)))

  describe("the records of an answer") {
    it("belong to a range up to its end, with the one that it ends after or within") {
      before(AfterSequenceNumber(number(5))) shouldBe Seq(1, 3, 5).map(n => number(n.toLong))
      before(Within(number(5), 1)) shouldBe Seq(1, 3, 5).map(n => number(n.toLong))
      before(AtSequenceNumber(number(5))) shouldBe Seq(1, 3).map(n => number(n.toLong))
      before(ShardEnd) should have size 4
    }

    it("reach a range's end if the record there is among them") {
      for (end <- ends) {
        reach(end, 1, 3)(AfterSequenceNumber(number(3))) shouldBe RangeEnds.Before
        reach(end)(AfterSequenceNumber(number(3))) shouldBe RangeEnds.Before
        reach(end, 3, 5)(AfterSequenceNumber(number(5))) shouldBe RangeEnds.AtEnd
        reach(end, 3, 5, 7)(ShardEnd) shouldBe RangeEnds.AtEnd
      }
    }

    it("pass a range's end if they continue behind it, or the shard ends, without the record there") {
      for (end <- ends) {
        reach(end, 3, 7)(AfterSequenceNumber(number(7))) shouldBe RangeEnds.Passed
        reach(end, 3)(ShardEnd) shouldBe RangeEnds.Passed
        reach(end)(ShardEnd) shouldBe RangeEnds.Passed
      }
    }

    it("reach an end that is no record where they end") {
      reach(ShardEnd, 3)(ShardEnd) shouldBe RangeEnds.AtEnd
      reach(ShardEnd, 3)(AfterSequenceNumber(number(3))) shouldBe RangeEnds.Before
    }
  }

  describe("a range") {
    it("has its first record if it begins at or within one that is there") {
      for (start <- Seq(AtSequenceNumber(number(5)), Within(number(5), 1))) {
        RangeEnds.hasFirst(start, Some(number(5))) shouldBe true
        RangeEnds.hasFirst(start, Some(number(7))) shouldBe false
        RangeEnds.hasFirst(start, None) shouldBe false
      }
      RangeEnds.hasFirst(AfterSequenceNumber(number(5)), None) shouldBe true
    }

    it("has its last record if it ends after or within one that is there") {
      for (end <- Seq(AfterSequenceNumber(number(5)), Within(number(5), 1))) {
        RangeEnds.hasLast(end, Some(number(5))) shouldBe true
        RangeEnds.hasLast(end, Some(number(3))) shouldBe false
        RangeEnds.hasLast(end, None) shouldBe false
      }
      RangeEnds.hasLast(AtSequenceNumber(number(5)), None) shouldBe true
    }
  }
}
