package io.github.kinesisspark.testkit.http

import io.github.kinesisspark.testkit._
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import scala.concurrent.duration._

class FaultRuleJsonSpec extends AnyFunSpec with Matchers {

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
      val rule =
        FaultRule(effect, FaultRule.actionOf(effect), Some("s"), Some("shardId-000000000000"), occurrence, 0.5, 9, 4)
      FaultRuleJson.parse(FaultRuleJson.write(rule).toString) shouldBe Right(rule)
      FaultRuleJson.parse(FaultRuleJson.write(FaultRule(effect)).toString) shouldBe Right(FaultRule(effect))
    }
  }

  it("an invalid fault rule is refused with the part at fault") {
    def refused(json: String): String = FaultRuleJson.parse(json.replace('\'', '"')).left.getOrElse("accepted")
    def ofRule(members: String)       = refused(s"{$members,'effect':{'type':'garbageBody'}}")
    def ofEffect(members: String)     = refused(s"{'effect':{$members}}")

    ofRule("'acton':'GetRecords'") shouldBe
      "Unknown member 'acton'. Known: action, after, afterEvents, effect, every, first, probability, seed, shard, stream"
    ofRule("'action':'GetRecord'") shouldBe "action must be a call of Kinesis, such as PutRecords, and is \"GetRecord\""
    ofRule("'shard':7") shouldBe "shard must be a text and is 7"
    ofRule("'first':'two'") shouldBe "first must be a whole number of 1 at least and is \"two\""
    ofRule("'first':1.5") shouldBe "first must be a whole number of 1 at least and is 1.5"
    ofRule("'every':0") shouldBe "every must be a whole number of 1 at least and is 0"
    ofRule("'first':1,'every':2") shouldBe "first and every can't be given together"
    ofRule("'probability':'0.5'") shouldBe "probability must be a number from 0 to 1 and is \"0.5\""
    ofRule("'seed':true") shouldBe "seed must be a whole number and is true"
    refused("{}") shouldBe "effect is missing: a structure expected"
    refused("{'effect':'garbageBody'}") shouldBe "effect must be a structure and is \"garbageBody\""
    refused("[1]") shouldBe "A fault rule must be a structure and is [1]"
    refused("nonsense") should startWith("A fault rule must be JSON: ")
    refused("{'effect':{'type':'silence'}} more") should startWith("A fault rule must be JSON: ")

    ofEffect("'type':'flood'") should startWith("effect.type must be one of abruptEnd, clockSkew, ")
    ofEffect("'type':'garbageBody','size':3") shouldBe "Unknown member 'effect.size'. Known: type"
    ofEffect("'type':'refuseEntries','shar':0.5") shouldBe "Unknown member 'effect.shar'. Known: code, share, type"
    ofEffect("'type':'refuseEntries','share':30") shouldBe "effect.share must be a number from 0 to 1 and is 30"
    ofEffect("'type':'errorEvent'") shouldBe "effect.code is missing: a text expected"
    ofEffect("'type':'delay'") shouldBe "effect.millis is missing: a whole number of 0 at least expected"
    ofEffect("'type':'delay','millis':-1") shouldBe "effect.millis must be a whole number of 0 at least and is -1"
    ofEffect(
      "'type':'httpStatus','status':1000"
    ) shouldBe "effect.status must be a whole number from 200 to 599 and is 1000"
    ofEffect("'type':'reset','at':'noon'") shouldBe
      "effect.at must be one of afterCall, beforeCall, insideBody and is \"noon\""
    refused("{'action':'GetRecords','effect':{'type':'refuseEntries'}}") shouldBe
      "action must be PutRecords with this effect and is \"GetRecords\""
  }

  it("a fault rule's member that is null counts as absent") {
    FaultRuleJson.parse("""{"action":null,"first":null,"effect":{"type":"silence"}}""") shouldBe
      Right(FaultRule(FaultEffect.Silence))
  }
}
