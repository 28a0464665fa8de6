package io.github.kinesisspark.read.reader

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.plan.{Boundaries, Boundary, BoundarySpacing, CutPoint, RangeSplitting, ReaderStatus}
import io.github.kinesisspark.read.plan.Admission.Allotment

class BoundariesSpec extends AnyFunSpec with Matchers with AfterNumbers with ScalaCheckPropertyChecks {
  private def record(n: Int, size: Int, arrival: Long) =
    KinesisRecord(number(n.toLong), "", new Array[Byte](size), arrival)

  /** Answers of random sizes, with records of random sizes and arrivals. */
  private val answers = for {
    sizes  <- Gen.choose(0, 25).flatMap(Gen.listOfN(_, Gen.choose(0, 100)))
    sparse <- Gen.choose(0, 5000)
    seed   <- seeds
  } yield {
    val random  = new scala.util.Random(seed)
    val all     = Iterator.from(1)
    var arrival = 100000L
    sizes.map(Array.fill(_) {
      arrival += random.nextInt(sparse + 1)
      record(all.next(), random.nextInt(2000), arrival - random.nextInt(20))
    })
  }

  private val spacings = for {
    precision <- Gen.oneOf(0, 4, 32)
    span      <- Gen.option(Gen.choose(0L, 2000L))
  } yield BoundarySpacing(precision, span)

  private def buffered(answers: Seq[Array[KinesisRecord]]) = answers.foldLeft(RecordBuffer.at(after(0))) {
    (buffer, answer) =>
      buffer.append(
        answer,
        RecordTotals.of(answer),
        answer.lastOption.fold(buffer.tip)(r => AfterSequenceNumber(r.sequenceNumber))
      )
  }

  private def status(answers: Seq[Array[KinesisRecord]], spacing: BoundarySpacing): ReaderStatus =
    statusOf(shard(0), buffered(answers), spacing)

  describe("boundaries") {
    it("have the records, bytes and arrivals up to each of them, and the last one those of all") {
      forAll(answers, spacings) { (answers, spacing) =>
        val all = answers.flatten
        status(answers, spacing).boundaries.all.foldLeft(0) { (from, boundary) =>
          val upTo = all.take(boundary.records.toInt)
          boundary shouldBe Boundary(
            upTo.last.sequenceNumber,
            upTo.size.toLong,
            upTo.map(_.size).sum,
            upTo.map(_.arrivalMillis).max,
            all(from).arrivalMillis
          )
          upTo.size
        } shouldBe all.size
      }
    }

    it("are the same whether answers come one by one or are looked at together") {
      forAll(answers, spacings) { (answers, spacing) =>
        val together =
          Boundaries.none(spacing).add(new RecordBuffer.Packed(answers.flatten.toArray), 0, answers.map(_.length).sum)
        buffered(answers).boundaries(spacing).all shouldBe together.all
      }
    }

    it("lie no further apart than the precision says, and the first record has one of its own") {
      forAll(answers) { answers =>
        val found = status(answers, BoundarySpacing(32, None)).boundaries.all
        found.headOption.foreach(_.records shouldBe 1)
        found.zip(found.drop(1)).foreach { case (one, next) =>
          next.records - one.records should be <= (one.records / 32).max(1)
        }
      }
    }

    it("lie no further apart in time than the span") {
      forAll(answers) { answers =>
        val all   = answers.flatten
        val found = status(answers, BoundarySpacing(0, Some(100))).boundaries.all
        found.zip(found.drop(1)).foreach { case (one, next) =>
          val block = all.slice(one.records.toInt, next.records.toInt).map(_.arrivalMillis)
          block.max - block.head should be <= 100L
        }
      }
    }

    it("stay the same on their way to the driver") {
      forAll(answers, spacings) { (answers, spacing) =>
        val sent  = buffered(answers).boundaries(spacing)
        val bytes = new ByteArrayOutputStream
        new ObjectOutputStream(bytes).writeObject(sent)
        val received = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject()
        received.asInstanceOf[Boundaries].all shouldBe sent.all
      }
    }

    it("are few however many records there are") {
      val many = new RecordBuffer.Packed(Array.tabulate(100000)(n => record(n + 1, 10, n * 100L)))
      Boundaries.none(BoundarySpacing(32, None)).add(many, 0, 100000).all.size should be < 400
      Boundaries.none(BoundarySpacing.none).add(many, 0, 100000).all.size shouldBe 2
    }
  }

  describe("the spacing") {
    it("is the finer the fewer shards there are, and none where nothing is cut") {
      BoundarySpacing.of(isLimited = false, parts = 1, None, shards = 10) shouldBe BoundarySpacing.none
      BoundarySpacing.of(isLimited = true, parts = 1, Some(10000), shards = 100) shouldBe BoundarySpacing(
        32,
        Some(5000)
      )
      BoundarySpacing.of(isLimited = true, parts = 64, None, shards = 1) shouldBe BoundarySpacing(128, None)
      BoundarySpacing.of(isLimited = true, parts = 64, None, shards = 10000) shouldBe BoundarySpacing(4, None)
    }
  }

  describe("a cut at boundaries") {
    it("is within the limits, and less than the longest prefix by no more than the precision") {
      forAll(answers, Gen.choose(0L, 1000L), Gen.choose(0L, 100000L)) { (answers, maxRecords, maxBytes) =>
        val all   = answers.flatten
        val sizes = all.scanLeft(0L)(_ + _.size)
        val fits  = sizes.zipWithIndex.takeWhile { case (size, n) => n <= maxRecords && size <= maxBytes }.last._2
        val cut   = status(answers, BoundarySpacing(32, None)).cut(Allotment(maxRecords, maxBytes))
        cut.records should be <= fits.toLong
        if (fits > 0) cut.records should be > 0L
        cut.bytes shouldBe sizes(cut.records.toInt)
        cut.position shouldBe (if (cut.records == 0 && all.nonEmpty) after(0) else after(cut.records))
        // A record that is larger than all before it together ends a block.
        if (maxBytes == 100000L) cut.records should be >= fits - fits / 32 - 1L
      }
    }

    it("ends before the first record that arrived after the limit, and reports its arrival") {
      val late = Array(1000L, 1005L, 1003L, 1004L, 1006L).zipWithIndex.map { case (t, i) => record(i + 1, 1, t) }
      def until(time: Long) = status(Seq(late), BoundarySpacing(32, None)).cut(Allotment(10, 1000, time))
      until(999) shouldBe CutPoint(after(0), 0, 0, None, Some(1000))
      until(1004) shouldBe CutPoint(after(1), 1, 1, Some(1000), Some(1005))
      until(1006) shouldBe CutPoint(after(5), 5, 5, Some(1006), None)
      // What comes after an approximate time is never said to be before it.
      status(Seq(late), BoundarySpacing(32, None)).cut(Allotment(2, 1000, 2000)).nextArrival shouldBe Some(1005)
    }

    it("includes the shard's end if all records fit") {
      val ended =
        status(Seq(Array(record(1, 1, 0), record(2, 1, 0))), BoundarySpacing(32, None)).copy(position = ShardEnd)
      ended.cut(Allotment(2, 1000)).position shouldBe ShardEnd
      ended.cut(Allotment(1, 1000)).position shouldBe after(1)
      val empty = status(Nil, BoundarySpacing(32, None)).copy(position = ShardEnd)
      empty.cut(Allotment(0, 0)) shouldBe CutPoint(ShardEnd, 0, 0, None, None)
    }
  }

  describe("a split at boundaries") {
    it("yields non-empty parts of similar size that make up the range") {
      forAll(Gen.choose(1, 2000), Gen.choose(1, 64)) { (records, parts) =>
        val all     = Array.tabulate(records)(n => record(n + 1, 100, 0))
        val spacing = BoundarySpacing.of(isLimited = false, parts, None, shards = 1)
        val cuts    = Boundaries.none(spacing).add(new RecordBuffer.Packed(all), 0, records).all
        val range   = ShardRange(shard(0), after(0), after(records.toLong))
        val ends    = RangeSplitting.ends(cuts.map(b => AfterSequenceNumber(b.last) -> b.bytes), parts)
        val split   = RangeSplitting.cut(range, ends)
        val sizes   = split.map(part => buffered(Seq(all)).slice(part.start, part.end).get.size)
        sizes.sum shouldBe records
        split.head.start shouldBe range.start
        split.last.end shouldBe range.end
        split.zip(split.drop(1)).foreach { case (one, next) => next.start shouldBe one.end }
        split.size shouldBe parts.min(records)
        sizes.max should be <= 2 * records / parts + 1
      }
    }
  }
}
