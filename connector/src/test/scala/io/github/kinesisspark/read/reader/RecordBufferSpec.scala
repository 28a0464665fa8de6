package io.github.kinesisspark.read.reader

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position._

class RecordBufferSpec extends AnyFunSpec with Matchers with AfterNumbers with ScalaCheckPropertyChecks {
  private def record(n: Long) = KinesisRecord(number(n), "key", Array.fill(n.toInt % 7)(0), 1000 + n)
  private def numbers(records: Iterator[KinesisRecord]) = records.map(_.sequenceNumber).toVector

  /** Records 2, 4, 6, ... in answers of random sizes: odd numbers lie between records. */
  private def filled(sizes: Seq[Int], base: ShardPosition) = {
    val all = Iterator.from(1).map(i => record(2L * i))
    sizes.foldLeft(RecordBuffer.at(base)) { (buffer, size) =>
      val answer = Array.fill(size)(all.next())
      buffer.append(
        answer,
        RecordTotals.of(answer),
        answer.lastOption.fold(buffer.tip)(r => AfterSequenceNumber(r.sequenceNumber))
      )
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

    it("takes as much heap as the answers of which anything is left") {
      forAll(sizes, Gen.choose(0, 30)) { (sizes, drop) =>
        whenever(drop <= sizes.sum) {
          val rest = filled(sizes, after(0)).dropTo(after(2L * drop)).get
          val left = sizes.zip(sizes.scanLeft(0)(_ + _)).filter { case (size, before) => before + size > drop }
          rest.heap shouldBe left.flatMap { case (size, before) =>
            (before + 1 to before + size).map(i => heapOf(record(2L * i)))
          }.sum
        }
      }
    }

    it("refuses to drop to a position that it does not hold") {
      filled(Seq(3), after(0)).dropTo(after(100)) shouldBe None
      filled(Seq(3), TrimHorizon).dropTo(AtTimestamp(3)) shouldBe None
    }

    it("does not hold the record that it was dropped to last, so that who begins with it reads it elsewhere") {
      val rest = filled(Seq(1, 2), after(0)).dropTo(after(2)).get
      rest.dropTo(AtSequenceNumber(number(2))) shouldBe None
      rest.dropTo(Within(number(2), 1)) shouldBe None
      rest.slice(AtSequenceNumber(number(2)), after(4)) shouldBe None
      rest.dropTo(AtSequenceNumber(number(4))).map(_.records) shouldBe Some(2)
    }

    it("holds no range whose first or last record is missing") {
      val start  = AtSequenceNumber(number(3))
      val buffer = filled(Seq(3), start) // Records 2, 4 and 6.
      buffer.slice(start, after(4)) shouldBe None
      filled(Seq(3), AtSequenceNumber(number(2)))
        .slice(AtSequenceNumber(number(2)), after(4))
        .map(_.size) shouldBe Some(2)
      filled(Seq(3), after(0)).slice(after(0), after(5)) shouldBe None
      filled(Seq(3), after(0)).slice(after(0), Within(number(5), 1)) shouldBe None
    }

    it("holds the shard's end as a position, also without records") {
      val ended = RecordBuffer.at(after(4)).append(Array.empty, RecordTotals.of(Array.empty), ShardEnd)
      ended.ended shouldBe true
      ended.slice(after(4), ShardEnd).map(_.size) shouldBe Some(0)
    }
  }
}
