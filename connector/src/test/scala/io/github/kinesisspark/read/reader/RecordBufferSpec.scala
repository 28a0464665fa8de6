package io.github.kinesisspark.read.reader

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.plan.Admission.Allotment
import io.github.kinesisspark.read.plan.RangeSplitting

class RecordBufferSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private def record(n: Long) = new KinesisRecord(number(n), "key", Array.fill(n.toInt % 7)(0), 1000 + n)
  private def after(n: Long)  = AfterSequenceNumber(number(n))
  private def numbers(records: Iterator[KinesisRecord]) = records.map(_.sequenceNumber).toVector

  /** Records 2, 4, 6, ... in answers of random sizes: odd numbers lie between records. */
  private def filled(sizes: Seq[Int], base: ShardPosition) = {
    val all = Iterator.from(1).map(i => record(2L * i))
    sizes.foldLeft(RecordBuffer.at(base)) { (buffer, size) =>
      val answer = Array.fill(size)(all.next())
      buffer.append(answer, answer.lastOption.fold(buffer.tip)(r => AfterSequenceNumber(r.sequenceNumber)))
    }
  }

  private val sizes = Gen.listOf(Gen.choose(0, 5))
  private val bases = Gen.oneOf[ShardPosition](TrimHorizon, AtTimestamp(5), after(0))

  describe("a record buffer") {
    it("yields exactly the records of any range between two of its positions") {
      forAll(sizes, bases, Gen.choose(0, 30), Gen.choose(0, 30)) { (sizes, base, a, b) =>
        val buffer = filled(sizes, base)
        val total  = sizes.sum
        whenever(total > 0 && a <= b && b <= total && (a > 0 || base == after(0))) {
          val expected = (a + 1 to b).map(i => number(2L * i))
          val slice    = buffer.slice(if (a == 0) base else after(2L * a), if (b == 0) base else after(2L * b))
          slice.map(numbers) shouldBe Some(expected)
        }
      }
    }

    it("yields nothing for a range that it does not hold completely") {
      val buffer = filled(Seq(3, 2), after(0)).dropTo(after(4)).get
      buffer.slice(after(2), after(6)) shouldBe None
      buffer.slice(after(4), after(12)) shouldBe None
      buffer.slice(TrimHorizon, after(6)) shouldBe None
      buffer.slice(after(4), ShardEnd) shouldBe None
      buffer.slice(after(8), after(6)) shouldBe None
    }

    it("yields a record to both ranges if one ends and the other starts within it") {
      val buffer = filled(Seq(3, 2), after(0))
      val middle = Within(number(4), 7)
      numbers(buffer.slice(after(0), middle).get) shouldBe Vector(number(2), number(4))
      numbers(buffer.slice(middle, after(8)).get) shouldBe Vector(number(4), number(6), number(8))
      numbers(buffer.slice(middle, Within(number(4), 9)).get) shouldBe Vector(number(4))
      val rest = buffer.dropTo(middle).get
      numbers(rest.slice(middle, after(6)).get) shouldBe Vector(number(4), number(6))
      numbers(rest.slice(Within(number(4), 9), rest.tip).get) shouldBe Vector(
        number(4),
        number(6),
        number(8),
        number(10)
      )
      rest.dropTo(after(2)) shouldBe None
    }

    it("finds a position that lies between two records") {
      val buffer = filled(Seq(3, 2), after(0))
      numbers(buffer.slice(after(3), after(8)).get) shouldBe Vector(number(4), number(6), number(8))
    }

    it("keeps sliced records readable after they are dropped") {
      val buffer = filled(Seq(2, 2), after(0))
      val slice  = buffer.slice(after(0), after(8)).get
      buffer.dropTo(after(8)).get.records shouldBe 0
      numbers(slice).size shouldBe 4
    }

    it("counts the remaining records and bytes after any drop") {
      forAll(sizes, Gen.choose(0, 30)) { (sizes, drop) =>
        val buffer = filled(sizes, after(0))
        whenever(drop <= sizes.sum) {
          val rest = buffer.dropTo(after(2L * drop)).get
          rest.records shouldBe sizes.sum - drop
          rest.bytes shouldBe (drop + 1 to sizes.sum).map(i => record(2L * i).size).sum
          rest.dropTo(rest.tip).get.heap shouldBe 0
        }
      }
    }

    it("refuses to drop to a position that it does not hold") {
      filled(Seq(3), after(0)).dropTo(after(100)) shouldBe None
      filled(Seq(3), TrimHorizon).dropTo(AtTimestamp(3)) shouldBe None
    }

    it("holds the shard's end as a position, also without records") {
      val ended = RecordBuffer.at(after(4)).append(Array.empty, ShardEnd)
      ended.ended shouldBe true
      ended.slice(after(4), ShardEnd).map(_.size) shouldBe Some(0)
      ended.cut(Allotment(shard(0), 10, 1000)) shouldBe RecordBuffer.Cut(ShardEnd, 0, 0, None, None)
    }
  }

  describe("a split of a buffered range") {
    it("yields non-empty parts of similar size that make up the range") {
      forAll(sizes, Gen.choose(0, 10), Gen.choose(0, 10), Gen.choose(1, 6)) { (sizes, before, behind, parts) =>
        whenever(before + behind < sizes.sum) {
          val buffer = filled(sizes, after(0))
          val range  = ShardRange(shard(0), after(2L * before), after(2L * (sizes.sum - behind)))
          val cut    = RangeSplitting.cut(range, buffer.split(range.start, range.end, parts).get)
          cut.size should (be >= 1 and be <= parts)
          cut.head.start shouldBe range.start
          cut.last.end shouldBe range.end
          cut.zip(cut.drop(1)).foreach { case (one, next) => next.start shouldBe one.end }
          val slices = cut.map(part => buffer.slice(part.start, part.end).get.toVector)
          slices.foreach(_ should not be empty)
          slices.flatten.map(_.sequenceNumber) shouldBe numbers(buffer.slice(range.start, range.end).get)
          val total = slices.flatten.map(_.size).sum
          all(slices.map(_.map(_.size).sum)) should be <= total / parts + 2 * record(6).size
        }
      }
    }

    it("keeps the shard's end in the last part, and is refused for a range that is not held") {
      val buffer = filled(Seq(2, 2), TrimHorizon).append(Array.empty, ShardEnd)
      buffer.split(TrimHorizon, ShardEnd, 2) shouldBe Some(Vector(after(4)))
      buffer.split(after(0), ShardEnd, 2) shouldBe None
    }
  }

  describe("a cut of a buffer") {
    it("is the longest prefix within the record and byte limits") {
      forAll(sizes, Gen.choose(0L, 30L), Gen.choose(0L, 200L)) { (sizes, maxRecords, maxBytes) =>
        val buffer = filled(sizes, after(0))
        val all    = (1 to sizes.sum).map(i => record(2L * i))
        val fits   = all.inits.find(p => p.size <= maxRecords && p.map(_.size).sum <= maxBytes).get
        val cut    = buffer.cut(Allotment(shard(0), maxRecords, maxBytes))
        cut.records shouldBe fits.size
        cut.bytes shouldBe fits.map(_.size).sum
        cut.position shouldBe fits.lastOption.fold[ShardPosition](after(0))(r => AfterSequenceNumber(r.sequenceNumber))
      }
    }

    it("ends before the first record that arrived after the limit, and reports its arrival") {
      val late   = Array(1000L, 1005L, 1003L, 1004L, 1006L)
      val buffer = RecordBuffer
        .at(after(0))
        .append(
          late.zipWithIndex.map { case (t, i) => new KinesisRecord(number(i + 1L), "k", Array.empty, t) },
          after(5)
        )
      def until(time: Long) = buffer.cut(Allotment(shard(0), 10, 1000, time))
      until(999) shouldBe RecordBuffer.Cut(after(0), 0, 0, None, Some(1000))
      until(1004) shouldBe RecordBuffer.Cut(after(1), 1, 1, Some(1000), Some(1005))
      // What comes after an approximate time is never said to be before it.
      buffer.cut(Allotment(shard(0), 2, 1000, 2000)).nextArrival shouldBe Some(1005)
      until(1006) shouldBe RecordBuffer.Cut(after(5), 5, 5, Some(1006), None)
      buffer.oldestArrival shouldBe Some(1000)
      buffer.newestArrival shouldBe Some(1006)
    }

    it("includes the shard's end if all records fit") {
      val buffer = filled(Seq(2), after(0)).append(Array(record(6)), ShardEnd)
      buffer.cut(Allotment(shard(0), 3, 1000)).position shouldBe ShardEnd
      buffer.cut(Allotment(shard(0), 2, 1000)).position shouldBe after(4)
    }
  }
}
