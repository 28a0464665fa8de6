package io.github.kinesisspark.testkit.model

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class TokenSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {

  private val positions: Gen[ReadPosition] = Gen.oneOf(
    Gen.zip(Gen.choose(0L, Long.MaxValue), Gen.choose(0L, Long.MaxValue)).map((ReadPosition.AtOrdinal.apply _).tupled),
    Gen.choose(0L, Long.MaxValue).map(ReadPosition.AtTime(_))
  )

  private val iterators = for {
    name        <- Gen.identifier
    created     <- Gen.choose(0L, Long.MaxValue)
    incarnation <- Gen.choose(0, 255)
    shard       <- Gen.choose(0, 100000).map(ShardInfo.id)
    position    <- positions
    issued      <- Gen.choose(0L, Long.MaxValue)
  } yield ShardIterator(name, created, incarnation, shard, position, issued)

  private val filters: Gen[ShardFilter] = Gen.oneOf(
    Gen.const(ShardFilter.AtTrimHorizon),
    Gen.const(ShardFilter.FromTrimHorizon),
    Gen.const(ShardFilter.AtLatest),
    Gen.choose(0L, Long.MaxValue).map(ShardFilter.AtTimestamp(_)),
    Gen.choose(0L, Long.MaxValue).map(ShardFilter.FromTimestamp(_)),
    Gen.choose(0, 1000).map(i => ShardFilter.AfterShardId(ShardInfo.id(i)))
  )

  it("a token encodes and decodes a shard iterator") {
    forAll(iterators)(it => ShardIterator.decode(it.encode) shouldBe Some(it))
  }

  it("a token encodes and decodes a page of ListShards with its filter") {
    forAll(Gen.identifier, filters, Gen.choose(0L, Long.MaxValue)) { (stream, filter, at) =>
      val page = ShardPage("000000000000", stream, filter, ShardInfo.id(3), at, at)
      ShardPage.decode(page.encode) shouldBe Some(page)
    }
  }

  it("a token is refused if it was changed, cut off, of another kind or not from this server") {
    val token = ShardIterator("s", 1, 0, ShardInfo.id(0), ReadPosition.AtOrdinal(7), 1).encode
    val other = if (token(20) == 'A') 'B' else 'A'
    Seq(token.updated(20, other), token.dropRight(3), "", "AAAA", "no base64!").foreach { text =>
      ShardIterator.decode(text) shouldBe None
    }
    ShardPage.decode(token) shouldBe None
  }

  it("a shard iterator expires after five minutes") {
    val iterator = ShardIterator("s", 1, 0, ShardInfo.id(0), ReadPosition.AtOrdinal(0), 1000)
    iterator.isExpired(1000 + 300000) shouldBe false
    iterator.isExpired(1000 + 300001) shouldBe true
  }
}
