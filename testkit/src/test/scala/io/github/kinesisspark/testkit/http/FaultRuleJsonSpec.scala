package io.github.kinesisspark.testkit.http

import com.fasterxml.jackson.databind.ObjectMapper
import io.github.kinesisspark.testkit._
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import scala.concurrent.duration._

class FaultRuleJsonSpec extends AnyFunSpec with Matchers {

  private val mapper = new ObjectMapper

  private val effects = Seq(
    FaultEffect.ServiceCode("InternalFailure", "why", 500),
    FaultEffect.HttpStatus(502),
    FaultEffect.Delay(20.millis),
    FaultEffect.Reset(ResetPoint.BeforeCall),
    FaultEffect.Reset(ResetPoint.AfterCall),
    FaultEffect.Reset(ResetPoint.InsideBody),
    FaultEffect.TruncatedBody,
    FaultEffect.GarbageBody,
    FaultEffect.RefuseEntries(0.25, "InternalFailure"),
    FaultEffect.EmptyAnswer(77),
    FaultEffect.EmptyEvent(78),
    FaultEffect.ClockSkew(-10.minutes),
    FaultEffect.ErrorEvent("KMSThrottlingException", "why"),
    FaultEffect.DelayEvent(3.seconds),
    FaultEffect.ResetStream,
    FaultEffect.ResetConnection,
    FaultEffect.Silence,
    FaultEffect.AbruptEnd,
    FaultEffect.CorruptFrame,
    FaultEffect.ContinuationMissing,
    FaultEffect.EndWithContinuation,
    FaultEffect.EndWithheld,
    FaultEffect.PlaceHeld(30.seconds)
  )

  private val occurrences = Seq(Occurrence.Always, Occurrence.First(1), Occurrence.Every(2), Occurrence.After(3))

  it("every effect and occurrence of a fault rule is equal after writing and reading JSON") {
    for (effect <- effects; occurrence <- occurrences) {
      val rule = FaultRule(effect, Some("PutRecords"), Some("s"), Some("shardId-000000000000"), occurrence, 0.5, 9, 4)
      FaultRuleJson.read(FaultRuleJson.write(rule)) shouldBe Right(rule)
      FaultRuleJson.read(FaultRuleJson.write(FaultRule(effect))) shouldBe Right(FaultRule(effect))
    }
  }

  it("an invalid fault rule is refused with the part at fault") {
    FaultRuleJson.read(mapper.readTree("""{"effect":{"type":"flood"}}""")) shouldBe Left("Unknown effect type 'flood'")
    FaultRuleJson.read(mapper.readTree("""{"acton":"X","effect":{"type":"garbageBody"}}""")) shouldBe
      Left("Unknown members: acton")
    FaultRuleJson.read(mapper.readTree("""{"effect":{"type":"reset","at":"noon"}}""")) shouldBe
      Left("Unknown reset point noon")
    FaultRuleJson.parse("""{"effect":{"type":"errorEvent"}}""") shouldBe Left("errorEvent needs a code")
    FaultRuleJson.parse("nonsense").isLeft shouldBe true
  }
}
