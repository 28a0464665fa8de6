package io.github.kinesisspark.position

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class HashKeySpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private val keys = Gen.containerOfN[Array, Byte](16, Gen.choose(Byte.MinValue, Byte.MaxValue)).map(BigInt(1, _))

  describe("a hash key") {
    it("is the unsigned MD5 of the partition key's UTF-8 bytes") {
      HashKey.of("a") shouldBe BigInt("0cc175b9c0f1b6a831c399e269772661", 16)
      HashKey.of("é") shouldBe BigInt("66ddcd97cfdeabb2f6fb8a999b4bc76f", 16)
    }

    it("is parsed from decimal digits") {
      forAll(keys)(key => HashKey.parse(key.toString) shouldBe Some(key))
      HashKey.parse(HashKey.Last.toString) shouldBe Some(HashKey.Last)
    }

    it("is refused if it is not a number, has a sign or exceeds 128 bits") {
      Seq("", "-1", "+1", "1.0", "0x1", "a", "١", "1" * 1000, (HashKey.Last + 1).toString)
        .foreach(text => HashKey.parse(text) shouldBe None)
    }
  }

  it("a hash key range contains both of its ends") {
    forAll(keys, keys, keys) { (a, b, key) =>
      val range = HashKeyRange(a.min(b), a.max(b))
      range.contains(range.start) && range.contains(range.end) shouldBe true
      range.contains(key) shouldBe (key >= range.start && key <= range.end)
    }
    HashKeyRange.all.contains(HashKey.Last) shouldBe true
  }
}
