package io.github.kinesisspark.testkit.http

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import io.github.kinesisspark.testkit._
import io.github.kinesisspark.testkit.action.Operation

import scala.concurrent.duration._

/** Fault rules as JSON, for tests in other processes:
  * {{{
  * {"action": "GetRecords", "stream": "events", "shard": "shardId-000000000000",
  *  "first": 3,             // or "every": n, "after": n; always if absent
  *  "probability": 0.5, "seed": 1,
  *  "effect": {"type": "serviceCode", "code": "InternalFailure", "message": "...", "status": 500}}
  * }}}
  * Of a call: `serviceCode` (code, message, status), `httpStatus` (status), `delay` (millis), `reset` (at: `beforeCall`,
  * `afterCall` or `insideBody`), `truncatedBody`, `garbageBody`, `refuseEntries` (share, code), `emptyAnswer`
  * (millisBehindLatest), `clockSkew` (millis). Of a subscription's event, after the first `afterEvents` of it if the rule
  * has that: `errorEvent` (code, message), `emptyEvent` (millisBehindLatest), `delayEvent` (millis), `resetStream`, `resetConnection`, `silence`,
  * `abruptEnd`, `corruptFrame`, `continuationMissing`; of its last one: `endWithContinuation`, `endWithheld`. Of a client
  * that leaves: `placeHeld` (millis). Each action is one of Kinesis; only one that the effect can strike is accepted.
  */
private[testkit] object FaultRuleJson {

  /** Reads a rule, or says which of its members is wrong and what it must be. */
  def parse(text: String): Either[String, FaultRule] = StrictJson.read("A fault rule", text) { rule =>
    val effect = readEffect(rule.structure("effect").required)
    FaultRule(
      effect,
      readAction(rule, effect),
      rule.text("stream").value,
      rule.text("shard").value,
      readOccurrence(rule),
      rule.share("probability").or(1.0),
      rule.whole("seed").or(0L),
      rule.whole("afterEvents", least = 0).or(0L)
    )
  }

  def write(rule: FaultRule): ObjectNode = {
    val json = JsonNodeFactory.instance.objectNode()
    rule.action.foreach(json.put("action", _))
    rule.stream.foreach(json.put("stream", _))
    rule.shard.foreach(json.put("shard", _))
    rule.occurrence match {
      case Occurrence.Always   => ()
      case Occurrence.First(n) => json.put("first", n)
      case Occurrence.Every(n) => json.put("every", n)
      case Occurrence.After(n) => json.put("after", n)
    }
    if (rule.afterEvents > 0) json.put("afterEvents", rule.afterEvents)
    json.put("probability", rule.probability).put("seed", rule.seed)
    json.set[ObjectNode]("effect", writeEffect(rule.effect))
  }

  private def readAction(rule: StrictJson, effect: FaultEffect): Option[String] = FaultRule.actionOf(effect) match {
    case Some(only) =>
      rule.member("action", s"$only with this effect")(n => Option(n.textValue).filter(_ == only)).value
    case None =>
      rule
        .member("action", "a call of Kinesis, such as PutRecords,")(n =>
          Option(n.textValue).filter(Operation.all.contains)
        )
        .value
  }

  private def readOccurrence(rule: StrictJson): Occurrence = {
    def count(name: String, least: Long)(of: Int => Occurrence): Option[(String, Occurrence)] =
      rule.whole(name, least, Int.MaxValue.toLong).value.map(n => name -> of(n.toInt))
    val counts = Vector(
      count("first", 1)(Occurrence.First(_)),
      count("every", 1)(Occurrence.Every(_)),
      count("after", 0)(Occurrence.After(_))
    ).flatten
    if (counts.size > 1) StrictJson.refuse(s"${counts.map(_._1).mkString(" and ")} can't be given together")
    counts.headOption.fold[Occurrence](Occurrence.Always)(_._2)
  }

  private def readEffect(effect: StrictJson): FaultEffect = Effects(effect.oneOf("type", Effects.keys).required)(effect)

  private def writeEffect(effect: FaultEffect): ObjectNode = {
    val json = JsonNodeFactory.instance.objectNode()
    effect match {
      case FaultEffect.ServiceCode(code, message, status) =>
        json.put("type", "serviceCode").put("code", code).put("message", message).put("status", status)
      case FaultEffect.HttpStatus(status)         => json.put("type", "httpStatus").put("status", status)
      case FaultEffect.Delay(by)                  => json.put("type", "delay").put("millis", by.toMillis)
      case FaultEffect.EmptyAnswer(behind)        => json.put("type", "emptyAnswer").put("millisBehindLatest", behind)
      case FaultEffect.EmptyEvent(behind)         => json.put("type", "emptyEvent").put("millisBehindLatest", behind)
      case FaultEffect.ClockSkew(by)              => json.put("type", "clockSkew").put("millis", by.toMillis)
      case FaultEffect.RefuseEntries(share, code) =>
        json.put("type", "refuseEntries").put("share", share).put("code", code)
      case FaultEffect.Reset(at)                 => json.put("type", "reset").put("at", ResetPoints(at))
      case FaultEffect.ErrorEvent(code, message) =>
        json.put("type", "errorEvent").put("code", code).put("message", message)
      case FaultEffect.DelayEvent(by) => json.put("type", "delayEvent").put("millis", by.toMillis)
      case FaultEffect.PlaceHeld(by)  => json.put("type", "placeHeld").put("millis", by.toMillis)
      case bare                       => json.put("type", Bare(bare))
    }
  }

  // Effects that need no more than their name.
  private val Bare: Map[FaultEffect, String] = Map(
    FaultEffect.TruncatedBody       -> "truncatedBody",
    FaultEffect.GarbageBody         -> "garbageBody",
    FaultEffect.ResetStream         -> "resetStream",
    FaultEffect.ResetConnection     -> "resetConnection",
    FaultEffect.Silence             -> "silence",
    FaultEffect.AbruptEnd           -> "abruptEnd",
    FaultEffect.CorruptFrame        -> "corruptFrame",
    FaultEffect.ContinuationMissing -> "continuationMissing",
    FaultEffect.EndWithContinuation -> "endWithContinuation",
    FaultEffect.EndWithheld         -> "endWithheld"
  )

  private val ResetPoints: Map[ResetPoint, String] = Map(
    ResetPoint.BeforeCall -> "beforeCall",
    ResetPoint.AfterCall  -> "afterCall",
    ResetPoint.InsideBody -> "insideBody"
  )

  private val Effects: Map[String, StrictJson => FaultEffect] = {
    def code(effect: StrictJson)                = effect.text("code").required
    def message(effect: StrictJson)             = effect.text("message").or("Injected fault")
    def millis(effect: StrictJson)              = effect.whole("millis", least = 0).required.millis
    def behind(effect: StrictJson)              = effect.whole("millisBehindLatest", least = 0).or(1000L)
    def status(effect: StrictJson, absent: Int) = effect.whole("status", 200, 599).or(absent.toLong).toInt
    Bare.map { case (effect, name) => name -> ((_: StrictJson) => effect) } ++ Map[String, StrictJson => FaultEffect](
      "serviceCode" -> (e => FaultEffect.ServiceCode(code(e), message(e), status(e, 400))),
      "httpStatus"  -> (e => FaultEffect.HttpStatus(status(e, 503))),
      "delay"       -> (e => FaultEffect.Delay(millis(e))),
      "reset" -> (e => FaultEffect.Reset(ResetPoints.map(_.swap)(e.oneOf("at", ResetPoints.values).or("beforeCall")))),
      "refuseEntries" -> (e =>
        FaultEffect.RefuseEntries(e.share("share").or(1.0), e.text("code").or("ProvisionedThroughputExceededException"))
      ),
      "emptyAnswer" -> (e => FaultEffect.EmptyAnswer(behind(e))),
      "clockSkew"   -> (e => FaultEffect.ClockSkew(e.whole("millis").required.millis)),
      "errorEvent"  -> (e => FaultEffect.ErrorEvent(code(e), message(e))),
      "emptyEvent"  -> (e => FaultEffect.EmptyEvent(behind(e))),
      "delayEvent"  -> (e => FaultEffect.DelayEvent(millis(e))),
      "placeHeld"   -> (e => FaultEffect.PlaceHeld(millis(e)))
    )
  }
}
