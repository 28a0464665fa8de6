package io.github.kinesisspark.testkit.model

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class HashKeySpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {

  describe("The hash key of a partition key") {
    it("is the unsigned MD5 of its UTF-8 bytes") {
      HashKey.of("") shouldBe BigInt("d41d8cd98f00b204e9800998ecf8427e", 16)
      HashKey.of("é") shouldBe BigInt("66ddcd97cfdeabb2f6fb8a999b4bc76f", 16)
    }
  }

  describe("An explicit hash key") {
    it("is a decimal number of at most 2^128-1") {
      HashKey.parse("0") shouldBe Some(HashKey.min)
      HashKey.parse("340282366920938463463374607431768211455") shouldBe Some(HashKey.max)
      HashKey.parse("340282366920938463463374607431768211456") shouldBe None
      Seq("", "-1", "01", "0x1", "1.0").foreach(HashKey.parse(_) shouldBe None)
    }
  }

  describe("Uniform ranges") {
    it("cover the hash key space without gap or overlap") {
      forAll(Gen.choose(1, 2000)) { count =>
        val ranges = HashRange.uniform(count)
        ranges.head.start shouldBe HashKey.min
        ranges.last.end shouldBe HashKey.max
        ranges.zip(ranges.drop(1)).forall { case (a, b) => a.touches(b) } shouldBe true
      }
    }

    it("equal those of the service for two shards") {
      HashRange.uniform(2).map(_.start.toString) shouldBe Vector("0", "170141183460469231731687303715884105728")
    }
  }

  describe("Splitting a range") {
    it("is refused if one part would be empty") {
      val range = HashRange(10, 20)
      range.splitAt(10) shouldBe None
      range.splitAt(21) shouldBe None
      range.splitAt(20) shouldBe Some((HashRange(10, 19), HashRange(20, 20)))
    }
  }
}
