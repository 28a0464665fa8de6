package io.github.kinesisspark.testkit.model

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class SequenceNumberSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {

  private val numbers = for {
    made        <- Gen.choose(1500000000L, 2500000000L)
    index       <- Gen.choose(0, Int.MaxValue)
    ordinal     <- Gen.choose(0L, Long.MaxValue)
    incarnation <- Gen.choose(0, 255)
    arrived     <- Gen.choose(1500000000L, 2500000000L)
  } yield SequenceNumber(made, index, ordinal, incarnation, arrived)

  it("a sequence number has 56 digits that start with 49, as the service's") {
    forAll(numbers) { number =>
      number.toString should have length SequenceNumber.Digits.toLong
      number.toString should startWith("49")
    }
  }

  it("a sequence number is equal after printing and parsing") {
    forAll(numbers)(number => SequenceNumber.parse(number.toString) shouldBe Some(number))
  }

  it("a sequence number grows with the ordinal, regardless of arrival time and shard") {
    forAll(numbers, numbers) { (a, b) =>
      whenever(a.ordinal < b.ordinal) {
        a.value.compareTo(b.copy(shardMadeAt = a.shardMadeAt, shardIndex = a.shardIndex).value) should be < 0
      }
    }
  }

  it("a sequence number of a later shard is higher") {
    forAll(numbers, numbers) { (a, b) =>
      whenever(a.shardMadeAt < b.shardMadeAt)(a.value.compareTo(b.value) should be < 0)
    }
  }

  it("sequence numbers of two shards differ for the same ordinal") {
    forAll(numbers, Gen.choose(0, Int.MaxValue)) { (number, other) =>
      whenever(other != number.shardIndex)(number.copy(shardIndex = other).value should not be number.value)
    }
  }

  it("texts of another form are refused as sequence numbers") {
    Seq("", "0", "-1", "12", "49", "x", "9" * 60).foreach(SequenceNumber.parse(_) shouldBe None)
  }
}
