package io.github.kinesisspark.testkit

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class FaultRuleSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {

  private val effect = FaultEffect.HttpStatus(503)
  private val get    = FaultTarget("GetRecords", Some("events"), Set("shardId-000000000001"))

  /** Which of `calls` like calls a rule strikes, from 1. */
  private def struck(rule: FaultRule, calls: Int): Vector[Int] =
    (1 to calls)
      .foldLeft((Vector(FaultCount(rule)), Vector.empty[Int])) { case ((rules, hits), call) =>
        val (after, strikes) = FaultRule.strike(rules, get)
        (after, if (strikes.isEmpty) hits else hits :+ call)
      }
      ._2

  it("a fault rule matches by action, stream and shard, each of which is optional") {
    FaultRule.matches(FaultRule(effect), get) shouldBe true
    FaultRule.matches(FaultRule(effect, action = Some("GetRecords")), get) shouldBe true
    FaultRule.matches(FaultRule(effect, action = Some("PutRecords")), get) shouldBe false
    FaultRule.matches(FaultRule(effect, stream = Some("other")), get) shouldBe false
    FaultRule.matches(FaultRule(effect, shard = Some("shardId-000000000001")), get) shouldBe true
    FaultRule.matches(FaultRule(effect, shard = Some("shardId-000000000002")), get) shouldBe false
    FaultRule.matches(FaultRule(effect, stream = Some("events")), get.copy(stream = None)) shouldBe false
  }

  it("a fault rule applies to the first n, every nth, or all after n matching calls") {
    struck(FaultRule(effect, occurrence = Occurrence.Always), 3) shouldBe Vector(1, 2, 3)
    struck(FaultRule(effect, occurrence = Occurrence.First(2)), 5) shouldBe Vector(1, 2)
    struck(FaultRule(effect, occurrence = Occurrence.Every(2)), 5) shouldBe Vector(2, 4)
    struck(FaultRule(effect, occurrence = Occurrence.After(3)), 5) shouldBe Vector(4, 5)
  }

  it("a fault rule counts only matching calls") {
    val rule        = FaultRule(effect, action = Some("PutRecords"), occurrence = Occurrence.First(1))
    val (counts, _) = FaultRule.strike(Vector(FaultCount(rule)), get)
    counts shouldBe Vector(FaultCount(rule))
    FaultRule.strike(counts, get.copy(action = "PutRecords"))._2 shouldBe Vector(Strike(rule, 1))
  }

  it("a removed fault rule returns its counts and applies no more") {
    val (rule, other) = (FaultRule(effect, seed = 1), FaultRule(effect, seed = 2))
    val plan          = new FaultPlan
    plan.remove(rule) shouldBe empty
    Seq(rule, other).foreach(plan.add)
    plan.strike(get)
    plan.remove(rule) shouldBe Vector(FaultCount(rule, matched = 1, struck = 1))
    plan.strike(get).map(_.rule) shouldBe Vector(other)
  }

  it("a fault rule with a probability applies to calls by its seed alone") {
    forAll(Gen.choose(0L, 1000000L)) { seed =>
      val rule = FaultRule(effect, probability = 0.3, seed = seed)
      val hits = struck(rule, 1000)
      hits shouldBe struck(rule, 1000)
      hits.size should (be > 200 and be < 400)
    }
    struck(FaultRule(effect, probability = 0), 100) shouldBe empty
    struck(FaultRule(effect, probability = 0.5, seed = 1), 50) should not be
      struck(FaultRule(effect, probability = 0.5, seed = 2), 50)
  }

  it("RefuseEntries refuses the given share of PutRecords entries of its shard only") {
    val shards = Vector.tabulate(1000)(i => s"shard-${i % 2}")
    val strike = Strike(FaultRule(effect, shard = Some("shard-1")), turn = 1)
    FaultRule.refused(1.0, strike, shards) shouldBe shards.map(_ == "shard-1")
    FaultRule.refused(0.5, strike, shards).count(identity) should (be > 180 and be < 320)
    FaultRule.refused(0.5, strike, shards) should not be FaultRule.refused(0.5, strike.copy(turn = 2), shards)
  }

  it("RefuseEntries matches PutRecords alone, and EmptyAnswer GetRecords alone") {
    for {
      (effect, action) <- Seq(
        FaultEffect.RefuseEntries(1.0) -> "PutRecords",
        FaultEffect.EmptyAnswer(9)     -> "GetRecords"
      )
      called <- Seq("PutRecord", "PutRecords", "GetRecords", "SubscribeToShard")
    } FaultRule.matches(FaultRule(effect), get.copy(action = called)) shouldBe called == action
  }

  it("Every takes 1 or more") {
    an[IllegalArgumentException] should be thrownBy Occurrence.Every(0)
  }

  describe("A rule about subscriptions") {
    def event(number: Long, last: Boolean = false): FaultTarget =
      FaultTarget("SubscribeToShard", Some("events"), Set("shardId-000000000001"), FaultMoment.Event(number, last))

    it("applies to events only, and a rule about calls to calls only") {
      FaultRule.matches(FaultRule(FaultEffect.Silence), event(1)) shouldBe true
      FaultRule.matches(FaultRule(FaultEffect.Silence), get) shouldBe false
      FaultRule.matches(FaultRule(effect), event(1)) shouldBe false
      FaultRule.matches(FaultRule(FaultEffect.Silence, shard = Some("shardId-000000000002")), event(1)) shouldBe false
    }

    it("leaves out the first afterEvents events of each subscription") {
      val rule = FaultRule(FaultEffect.Silence, afterEvents = 2)
      (1L to 4L).map(n => FaultRule.matches(rule, event(n))) shouldBe Seq(false, false, true, true)
    }

    it("applies to the last event only, if it is about the shard's end") {
      val rule = FaultRule(FaultEffect.EndWithheld)
      FaultRule.matches(rule, event(1)) shouldBe false
      FaultRule.matches(rule, event(1, last = true)) shouldBe true
      FaultRule.matches(rule.copy(afterEvents = 1), event(1, last = true)) shouldBe false
    }

    it("applies when the client cancels, if it is about a held place") {
      val rule = FaultRule(FaultEffect.PlaceHeld(scala.concurrent.duration.Duration.Zero))
      FaultRule.matches(rule, event(1)) shouldBe false
      FaultRule.matches(rule, event(1).copy(moment = FaultMoment.Leaving)) shouldBe true
    }
  }
}
