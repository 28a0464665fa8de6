package io.github.kinesisspark.read.plan

import java.time.Instant

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.position.{ShardKey, StreamArn}
import io.github.kinesisspark.read.plan.Completeness.Gap

class RetentionLagSpec extends AnyFunSpec with Matchers {
  private val stream = StreamArn("arn:aws:kinesis:eu-west-1:123456789012:stream/orders")
  private val one    = ShardKey(stream, "shardId-000000000000")
  private val two    = ShardKey(stream, "shardId-000000000001")

  /** What is reported at each planning, by what each shard has come to and what is past retention. */
  private def gaps(plannings: (Map[ShardKey, Option[Long]], Long)*): Seq[Map[ShardKey, Gap]] =
    plannings
      .scanLeft((RetentionLag(), Map.empty[ShardKey, Gap])) { case ((lag, _), (reached, horizon)) =>
        lag.after(reached, _ => horizon)
      }
      .tail
      .map(_._2)

  private def gap(from: Long, until: Long) = Gap(Instant.ofEpochMilli(from), Instant.ofEpochMilli(until))

  describe("the loss report of a running query") {
    it("is empty if each planning finds the previous position within retention") {
      gaps(
        Map(one -> Some(100L)) -> 90L,
        Map(one -> Some(120L)) -> 100L,
        Map(one -> Some(121L)) -> 120L
      ).flatten shouldBe empty
    }

    it("names the gap if retention has passed the previous position") {
      gaps(
        Map(one -> Some(100L), two -> Some(200L)) -> 90L,
        Map(one -> Some(300L), two -> Some(300L)) -> 150L
      ).last shouldBe
        Map(one -> gap(100, 150))
    }

    it("comes once per loss, and again after the query has caught up and fallen behind") {
      val behind = Map[ShardKey, Option[Long]](one -> Some(100L))
      gaps(
        behind                 -> 0L,
        behind                 -> 110L,
        behind                 -> 120L,
        Map(one -> Some(500L)) -> 130L,
        Map(one -> Some(500L)) -> 140L,
        Map(one -> Some(510L)) -> 505L
      ).map(_.size) shouldBe Seq(0, 1, 0, 0, 0, 1)
    }

    it("leaves out shards without a known position") {
      gaps(Map(one -> None) -> 0L, Map(one -> None, two -> Some(1L)) -> 1000L).flatten shouldBe empty
    }
  }
}
