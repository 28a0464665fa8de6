package io.github.kinesisspark.testkit.model

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class ShardMapSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  import ShardMapSpec._

  it("open shards cover the hash key space after any splits and merges") {
    forAll(reshards) { case (count, steps) =>
      val map    = play(count, steps)
      val ranges = map.open.map(_.range)
      ranges.head.start shouldBe HashKey.min
      ranges.last.end shouldBe HashKey.max
      ranges.zip(ranges.drop(1)).forall { case (a, b) => a.touches(b) } shouldBe true
    }
  }

  it("a key is routed to the open shard whose range contains its hash key") {
    forAll(reshards, Gen.alphaNumStr) { case ((count, steps), key) =>
      val hash = HashKey.of(key)
      play(count, steps).route(hash).range.contains(hash) shouldBe true
    }
  }

  it("child shards have higher sequence numbers than all their parents, also within one second") {
    forAll(reshards) { case (count, steps) =>
      val map = play(count, steps)
      for (child <- map.shards; parent <- child.parents.flatMap(map.get)) {
        parent.isOpen shouldBe false
        BigInt(child.startingSequence) should be > BigInt(highest(parent))
      }
    }
  }

  it("a shard map knows the children of a split and of a merge") {
    val map   = ShardMap.uniform(2, Now, 0)
    val split = resharded(map, map.split(id(0), map.get(id(0)).get.range.start + 1, Now))
    split.children(id(0)).map(_.id) shouldBe Vector(id(2), id(3))
    val merged = resharded(split, split.merge(id(3), id(1), Now))
    merged.children(id(3)).map(_.id) shouldBe Vector(id(4))
    merged.children(id(1)) shouldBe merged.children(id(3))
    merged.get(id(4)).get.parents shouldBe Vector(id(3), id(1))
  }

  it("splits and merges of missing, closed or non-adjacent shards are refused with the reason") {
    val map    = ShardMap.uniform(3, Now, 0)
    val first  = map.get(id(0)).get
    val closed = resharded(map, map.split(id(0), first.range.start + 5, Now))
    map.split("shardId-000000000009", 1, Now) shouldBe Left(ShardMap.Refusal.NoSuchShard("shardId-000000000009"))
    map.split(id(0), first.range.start, Now) shouldBe Left(ShardMap.Refusal.HashKeyNotInside(first))
    map.split(id(0), first.range.end + 1, Now) shouldBe Left(ShardMap.Refusal.HashKeyNotInside(first))
    map.merge(id(0), id(2), Now) shouldBe Left(ShardMap.Refusal.NotAdjacent(id(0), id(2)))
    map.merge(id(0), id(0), Now) shouldBe Left(ShardMap.Refusal.NotAdjacent(id(0), id(0)))
    closed.split(id(0), first.range.start + 5, Now) shouldBe Left(ShardMap.Refusal.NotOpen(id(0)))
    closed.merge(id(1), id(0), Now) shouldBe Left(ShardMap.Refusal.NotOpen(id(0)))
  }

  describe("Rescaling") {
    it("turns any shards into uniform ones") {
      forAll(reshards, Gen.choose(1, 12)) { case ((count, steps), target) =>
        val scaled = Rescale.plan(play(count, steps).open.map(_.range), target).foldLeft(play(count, steps)) {
          case (map, Rescale.SplitAt(key))     => resharded(map, map.split(map.route(key).id, key, Now))
          case (map, Rescale.MergeNext(start)) =>
            val left = map.route(start)
            resharded(map, map.merge(left.id, map.route(left.range.end + 1).id, Now))
        }
        scaled.open.map(_.range) shouldBe HashRange.uniform(target)
      }
    }

    it("needs no steps if the shards are already uniform") {
      Rescale.plan(HashRange.uniform(7), 7) shouldBe empty
    }

    it("takes one split per shard to double, and one merge per pair to halve") {
      for (n <- 1 to 12) {
        Rescale.plan(HashRange.uniform(n), 2 * n) should have size n.toLong
        Rescale.plan(HashRange.uniform(2 * n), n) should have size n.toLong
      }
    }
  }
}

private object ShardMapSpec {
  private val Now = 1700000000000L

  def id(index: Int): String = ShardInfo.id(index)

  /** The highest number a shard can give out. */
  def highest(shard: ShardInfo): String =
    SequenceNumber(shard.madeAtSecond, shard.index, Long.MaxValue, 0, Now / 1000).toString

  def resharded(map: ShardMap, decided: Either[ShardMap.Refusal, ShardMap.Resharding]): ShardMap =
    map.after(
      decided.fold(r => sys.error(r.toString), identity),
      id => ShardState.Closed(Now, highest(map.get(id).get))
    )

  /** A number of shards, and numbers that choose what to split and merge. */
  val reshards: Gen[(Int, List[(Boolean, Int)])] = for {
    count <- Gen.choose(1, 6)
    steps <- Gen.listOf(Gen.zip(Gen.oneOf(true, false), Gen.choose(0, 1000)))
  } yield (count, steps.take(20))

  def play(count: Int, steps: List[(Boolean, Int)]): ShardMap =
    steps.foldLeft(ShardMap.uniform(count, Now, 0)) { case (map, (isSplit, choice)) =>
      val shard = map.open(choice % map.open.size)
      if (isSplit) resharded(map, map.split(shard.id, (shard.range.start + shard.range.end + 1) / 2, Now))
      else if (shard.range.end == HashKey.max) map
      else resharded(map, map.merge(shard.id, map.route(shard.range.end + 1).id, Now))
    }
}
