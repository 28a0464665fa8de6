package io.github.kinesisspark.testkit.model

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Compares the log with a simple model, a vector of records. */
class RecordLogSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {

  import RecordLogSpec._

  private val sizes = Gen.frequency(8 -> Gen.choose(0, 30), 3 -> Gen.choose(200, 3000), 1 -> Gen.choose(65000, 80000))

  private val logs: Gen[Vector[Entry]] = for {
    count <- Gen.choose(0, 60)
    gaps  <- Gen.listOfN(count, Gen.choose(1L, 5L))
    steps <- Gen.listOfN(count, Gen.choose(-3L, 6L))
    keys  <- Gen.listOfN(count, Gen.option(Gen.frequency(5 -> Gen.alphaNumStr, 1 -> Gen.const("é" * 200))))
    sizes <- Gen.listOfN(count, sizes)
    kms   <- Gen.listOfN(count, Gen.oneOf(true, false))
  } yield {
    val ordinals = gaps.scanLeft(0L)(_ + _).tail
    val arrivals = steps.scanLeft(100L)(_ + _).tail
    ordinals
      .lazyZip(arrivals)
      .lazyZip(keys.lazyZip(sizes).lazyZip(kms).toVector)
      .map { case (o, a, (key, size, isEncrypted)) =>
        Entry(o, a, key, Vector.tabulate(size)(i => (i + o).toByte), isEncrypted)
      }
      .toVector
  }

  private def number(entry: Entry): String = SequenceNumber(1700000000, 1, entry.ordinal, 0, 1700000000).toString

  private def logOf(entries: Vector[Entry]): RecordLog = {
    val log = new RecordLog
    entries.foreach(e => log.append(e.ordinal, e.arrivedAt, number(e), e.key, e.data.toArray, e.isEncrypted))
    log
  }

  private def contents(slices: RecordLog.Slices): Vector[(String, Long, Option[String], Vector[Byte], Boolean)] =
    slices.records.map { r =>
      val bytes = new Array[Byte](r.data.remaining)
      r.data.get(bytes)
      (r.sequence, r.arrivedAt, r.partitionKey, bytes.toVector, r.isEncrypted)
    }.toVector

  private def expected(entries: Vector[Entry]) =
    entries.map(e => (number(e), e.arrivedAt, e.key, e.data, e.isEncrypted))

  it("a record log yields appended records from any ordinal within the limits, and at least one") {
    forAll(logs, Gen.choose(0L, 200L), Gen.choose(1, 70), Gen.choose(0, 100000)) { (entries, from, count, bytes) =>
      val rest    = entries.filter(_.ordinal >= from).take(count)
      val fitting = rest.indices.takeWhile(i => i == 0 || rest.take(i + 1).map(_.size).sum <= bytes).size
      val read    = logOf(entries).read(from, count, bytes)
      contents(read) shouldBe expected(rest.take(fitting))
      read.count shouldBe fitting
      read.bytes shouldBe rest.take(fitting).map(_.size.toLong).sum
      read.lastOrdinal shouldBe rest.take(fitting).lastOption.map(_.ordinal)
    }
  }

  it("a record log reads no record from the first on that arrived after the time limit") {
    forAll(logs, Gen.choose(0L, 200L), Gen.choose(90L, 300L)) { (entries, from, until) =>
      val highest = entries.scanLeft(Long.MinValue)((most, e) => math.max(most, e.arrivedAt)).tail
      val within  = entries.zip(highest).filter(_._1.ordinal >= from).takeWhile(_._2 <= until).map(_._1)
      contents(logOf(entries).read(from, Int.MaxValue, Int.MaxValue, until)) shouldBe expected(within)
      logOf(entries).highestArrivalAt(from) shouldBe entries.zip(highest).find(_._1.ordinal >= from).map(_._2)
    }
  }

  it("a record log finds the first record that arrived at or after a time, also if arrival times go back") {
    forAll(logs, Gen.choose(90L, 300L)) { (entries, time) =>
      logOf(entries).firstArrivedFrom(time) shouldBe entries.find(_.arrivedAt >= time).map(_.ordinal)
    }
  }

  it("a record log drops the records before the first of a time or below an ordinal, and yields the rest") {
    forAll(logs, Gen.choose(90L, 300L), Gen.choose(0L, 200L)) { (entries, time, ordinal) =>
      val log = logOf(entries)
      log.trimArrivedBefore(time)
      log.trimBelow(ordinal)
      val kept = entries.dropWhile(_.arrivedAt < time).filter(_.ordinal >= ordinal)
      log.size shouldBe kept.size
      log.oldestArrival shouldBe kept.headOption.map(_.arrivedAt)
      contents(log.read(0, Int.MaxValue, Int.MaxValue)) shouldBe expected(kept)
    }
  }

  it("a slice of a record log stays unchanged after further appends") {
    val entries = Vector.tabulate(200)(i => Entry(i + 1L, 100, Some(s"k$i"), Vector.fill(i)(i.toByte)))
    val log     = logOf(entries.take(3))
    val read    = log.read(0, 100, 100000)
    entries.drop(3).foreach(e => log.append(e.ordinal, e.arrivedAt, number(e), e.key, e.data.toArray, e.isEncrypted))
    contents(read) shouldBe expected(entries.take(3))
  }
}

private object RecordLogSpec {
  final case class Entry(
      ordinal: Long,
      arrivedAt: Long,
      key: Option[String],
      data: Vector[Byte],
      isEncrypted: Boolean = false
  ) {
    def size: Int = key.fold(0)(_.getBytes("UTF-8").length) + data.size
  }
}
