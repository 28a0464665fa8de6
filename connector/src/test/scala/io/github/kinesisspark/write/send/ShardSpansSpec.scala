package io.github.kinesisspark.write.send

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class ShardSpansSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {

  /** A model of the spans: the least and the greatest key of each shard. It looks at all shards for each answer. */
  private def observed(all: Map[String, (Int, Int)], key: Int, shard: String): Map[String, (Int, Int)] =
    if (all.exists { case (id, (first, last)) => id == shard && first <= key && key <= last }) all
    else {
      val (first, last) = all.get(shard).fold((key, key)) { case (least, most) =>
        (least.min(key), most.max(key))
      }
      val apart = all.filter { case (id, (least, most)) => id != shard && (least > last || most < first) }
      apart.updated(shard, (first, last))
    }

  describe("the spans of shards") {
    it("are from the least to the greatest key that went there, and end where another shard's begin") {
      val keys = Gen.choose(0, 60)
      forAll(Gen.listOf(Gen.zip(keys, Gen.choose(1, 8).map(n => s"shard-$n")))) { answers =>
        val spans = answers.foldLeft(ShardSpans.unknown) { case (s, (key, shard)) => s.addChildren(BigInt(key), shard) }
        val model = answers.foldLeft(Map.empty[String, (Int, Int)]) { case (m, (key, shard)) =>
          observed(m, key, shard)
        }
        for (key <- 0 to 60)
          spans.shardOf(BigInt(key)) shouldBe model.collectFirst {
            case (id, (first, last)) if first <= key && key <= last => id
          }
      }
    }
  }
}
