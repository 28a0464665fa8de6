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

  it("has 56 digits that begin with 49, as the service's") {
    forAll(numbers) { number =>
      number.toString should have length SequenceNumber.Digits.toLong
      number.toString should startWith("49")
    }
  }

  it("is read back as it was written") {
    forAll(numbers)(number => SequenceNumber.parse(number.toString) shouldBe Some(number))
  }

  it("grows with the ordinal, whatever the time of arrival") {
    forAll(numbers, numbers) { (a, b) =>
      whenever(a.ordinal < b.ordinal) {
        a.value.compareTo(b.copy(shardMadeAt = a.shardMadeAt, shardIndex = a.shardIndex).value) should be < 0
      }
    }
  }

  it("is higher in every shard that was made later") {
    forAll(numbers, numbers) { (a, b) =>
      whenever(a.shardMadeAt < b.shardMadeAt)(a.value.compareTo(b.value) should be < 0)
    }
  }

  it("differs between two shards of a stream") {
    forAll(numbers, Gen.choose(0, Int.MaxValue)) { (number, other) =>
      whenever(other != number.shardIndex)(number.copy(shardIndex = other).value should not be number.value)
    }
  }

  it("is not read from numbers of another form") {
    Seq("", "0", "-1", "12", "49", "x", "9" * 60).foreach(SequenceNumber.parse(_) shouldBe None)
  }
}
