package io.github.kinesisspark.testkit.http

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.github.kinesisspark.testkit._

import scala.concurrent.duration._
import scala.util.Try

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
  * that leaves: `placeHeld` (millis).
  */
private[testkit] object FaultRuleJson {

  def parse(text: String): Either[String, FaultRule] =
    Try(mapper.readTree(text)).toEither.left.map(_.getMessage).flatMap(read)

  def read(json: JsonNode): Either[String, FaultRule] = for {
    _      <- unknown(json, RuleMembers)
    effect <- readEffect(json.path("effect"))
  } yield FaultRule(
    effect,
    text(json, "action"),
    text(json, "stream"),
    text(json, "shard"),
    readOccurrence(json),
    json.path("probability").asDouble(1.0),
    json.path("seed").asLong(0),
    json.path("afterEvents").asLong(0)
  )

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

  private def readOccurrence(json: JsonNode): Occurrence =
    if (json.has("first")) Occurrence.First(json.get("first").asInt)
    else if (json.has("every")) Occurrence.Every(json.get("every").asInt)
    else if (json.has("after")) Occurrence.After(json.get("after").asInt)
    else Occurrence.Always

  private def readEffect(json: JsonNode): Either[String, FaultEffect] = json.path("type").asText match {
    case "serviceCode" =>
      text(json, "code").toRight("serviceCode needs a code").map { code =>
        FaultEffect.ServiceCode(code, text(json, "message").getOrElse("Injected fault"), json.path("status").asInt(400))
      }
    case "errorEvent" =>
      text(json, "code").toRight("errorEvent needs a code").map { code =>
        FaultEffect.ErrorEvent(code, text(json, "message").getOrElse("Injected fault"))
      }
    case "delayEvent"    => Right(FaultEffect.DelayEvent(json.path("millis").asLong.millis))
    case "placeHeld"     => Right(FaultEffect.PlaceHeld(json.path("millis").asLong.millis))
    case "httpStatus"    => Right(FaultEffect.HttpStatus(json.path("status").asInt(503)))
    case "delay"         => Right(FaultEffect.Delay(json.path("millis").asLong.millis))
    case "emptyAnswer"   => Right(FaultEffect.EmptyAnswer(json.path("millisBehindLatest").asLong(1000)))
    case "emptyEvent"    => Right(FaultEffect.EmptyEvent(json.path("millisBehindLatest").asLong(1000)))
    case "clockSkew"     => Right(FaultEffect.ClockSkew(json.path("millis").asLong.millis))
    case "refuseEntries" =>
      Right(
        FaultEffect.RefuseEntries(
          json.path("share").asDouble(1.0),
          text(json, "code").getOrElse("ProvisionedThroughputExceededException")
        )
      )
    case "reset" =>
      val at = text(json, "at").getOrElse("beforeCall")
      ResetPoints.collectFirst { case (point, `at`) => FaultEffect.Reset(point) }.toRight(s"Unknown reset point $at")
    case other => Bare.collectFirst { case (effect, `other`) => effect }.toRight(s"Unknown effect type '$other'")
  }

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

  private def unknown(json: JsonNode, known: Set[String]): Either[String, Unit] = {
    val names = Vector.newBuilder[String]
    json.fieldNames.forEachRemaining(n => if (!known(n)) names += n)
    val wrong = names.result()
    Either.cond(wrong.isEmpty, (), s"Unknown members: ${wrong.mkString(", ")}")
  }

  private def text(json: JsonNode, name: String): Option[String] =
    Option(json.get(name)).filter(_.isTextual).map(_.asText)

  private val mapper = new ObjectMapper

  private val RuleMembers =
    Set("action", "stream", "shard", "first", "every", "after", "probability", "seed", "afterEvents", "effect")

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
}
