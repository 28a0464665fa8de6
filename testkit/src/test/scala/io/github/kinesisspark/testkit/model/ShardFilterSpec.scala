package io.github.kinesisspark.testkit.model

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class ShardFilterSpec extends AnyFunSpec with Matchers {

  // Shard 0 and 1 made at 1000; 0 split at 2000 into 2 and 3; 3 and 1 merged at 3000 into 4.
  private val map = {
    val first = ShardMap.uniform(2, 1000, 0)
    val split = first.after(right(first.split(id(0), 7, 2000)), _ => ShardState.Closed(2000, "1"))
    split.after(right(split.merge(id(3), id(1), 3000)), _ => ShardState.Closed(3000, "1"))
  }

  private def id(index: Int): String                                      = ShardInfo.id(index)
  private def right[A](e: Either[Any, A]): A                              = e.fold(x => sys.error(x.toString), identity)
  private def select(filter: ShardFilter, horizon: Long = 0): Vector[Int] =
    ShardFilter.select(map.shards, filter, horizon).map(_.index)

  it("AT_LATEST selects the open shards") {
    select(ShardFilter.AtLatest) shouldBe Vector(2, 4)
  }

  it("FROM_TRIM_HORIZON selects all shards within retention") {
    select(ShardFilter.FromTrimHorizon) shouldBe Vector(0, 1, 2, 3, 4)
    select(ShardFilter.FromTrimHorizon, horizon = 2500) shouldBe Vector(1, 2, 3, 4)
    select(ShardFilter.FromTrimHorizon, horizon = 3001) shouldBe Vector(2, 4)
  }

  it("AT_TRIM_HORIZON selects the shards open at the horizon or at the stream's creation") {
    select(ShardFilter.AtTrimHorizon) shouldBe Vector(0, 1)
    select(ShardFilter.AtTrimHorizon, horizon = 2500) shouldBe Vector(1, 2, 3)
    select(ShardFilter.AtTrimHorizon, horizon = 3000) shouldBe Vector(1, 2, 3, 4)
  }

  it("AT_TIMESTAMP selects the shards open at that time, and parents beside their children at that of the reshard") {
    select(ShardFilter.AtTimestamp(1500)) shouldBe Vector(0, 1)
    select(ShardFilter.AtTimestamp(1999)) shouldBe Vector(0, 1)
    select(ShardFilter.AtTimestamp(2000)) shouldBe Vector(0, 1, 2, 3)
    select(ShardFilter.AtTimestamp(2001)) shouldBe Vector(1, 2, 3)
    select(ShardFilter.AtTimestamp(3001)) shouldBe Vector(2, 4)
    select(ShardFilter.AtTimestamp(5)) shouldBe Vector(0, 1)
  }

  it("FROM_TIMESTAMP selects the shards open at that time and all later ones") {
    select(ShardFilter.FromTimestamp(2000)) shouldBe Vector(0, 1, 2, 3, 4)
    select(ShardFilter.FromTimestamp(2001)) shouldBe Vector(1, 2, 3, 4)
    select(ShardFilter.FromTimestamp(3001)) shouldBe Vector(2, 4)
  }

  it("AFTER_SHARD_ID selects shards with a higher ID") {
    select(ShardFilter.AfterShardId(id(2))) shouldBe Vector(3, 4)
  }
}
