package io.github.kinesisspark.testkit.http

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.github.kinesisspark.testkit._
import org.eclipse.jetty.http.HttpHeader
import org.eclipse.jetty.io.Content
import org.eclipse.jetty.server.{Handler, Request, Response}
import org.eclipse.jetty.util.Callback

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Duration, Instant}

/** The server's own controls under `/_testkit/`, for tests in other processes: `health`, `calls`, `faults`, `clock`,
  * `subscriptions`.
  */
final private[testkit] class AdminHandler(
    clock: ServiceClock,
    faults: FaultPlan,
    calls: CallLog,
    subscriptions: Subscriptions
) extends Handler.Abstract {
  import AdminHandler._

  override def handle(request: Request, response: Response, callback: Callback): Boolean = {
    val path = request.getHttpURI.getPath
    val ours = path != null && path.startsWith(Prefix)
    if (ours) {
      val body             = UTF_8.decode(Content.Source.asByteBuffer(request)).toString
      val (status, answer) = route(request.getMethod, path.stripPrefix(Prefix), body)
      response.setStatus(status)
      response.getHeaders.put(HttpHeader.CONTENT_TYPE, "application/json")
      Content.Sink.write(response, true, mapper.writeValueAsString(answer), callback)
    }
    ours
  }

  private def route(method: String, what: String, body: String): (Int, JsonNode) = (method, what) match {
    case ("GET", "health")    => (200, node().put("status", "ok").put("nowMillis", clock.millis))
    case ("GET", "calls")     => (200, callsJson)
    case ("DELETE", "calls")  => calls.clear(); (200, node())
    case ("GET", "faults")    => (200, faultsJson)
    case ("DELETE", "faults") => faults.clear(); (200, node())
    case ("POST", "faults")   =>
      FaultRuleJson.parse(body) match {
        case Right(rule) => faults.add(rule); (200, faultsJson)
        case Left(error) => refuse(error)
      }
    case ("GET", "subscriptions") => (200, subscriptionsJson)
    case ("POST", "clock")        => move(body)
    case _                        => (404, node().put("error", s"No $method $Prefix$what"))
  }

  private def move(body: String): (Int, JsonNode) = clock match {
    case movable: MovableClock =>
      val move = StrictJson.read("A move of the clock", body) { json =>
        (json.whole("advanceMillis", least = 0).value, json.whole("setMillis", least = 0).value) match {
          case (Some(by), None) => () => movable.advance(Duration.ofMillis(by))
          case (None, Some(to)) => () => movable.set(Instant.ofEpochMilli(to))
          case _                => StrictJson.refuse("advanceMillis or setMillis expected")
        }
      }
      move.fold(refuse, now => { now(); (200, node().put("nowMillis", clock.millis)) })
    case _ => refuse("This server's clock can not be moved")
  }

  private def faultsJson: JsonNode = {
    val list = JsonNodeFactory.instance.arrayNode()
    faults.list.foreach { count =>
      list.add(FaultRuleJson.write(count.rule).put("matched", count.matched).put("struck", count.struck))
    }
    node().set[ObjectNode]("rules", list)
  }

  private def subscriptionsJson: JsonNode = {
    val json = node().put("opened", subscriptions.opened)
    val live = json.putArray("live")
    subscriptions.live.foreach { s =>
      live
        .addObject()
        .put("consumerArn", s.consumerArn)
        .put("stream", s.stream)
        .put("shardId", s.shardId)
        .put("sinceMillis", s.sinceMillis)
        .put("events", s.events)
        .put("records", s.records)
    }
    val most = json.putObject("mostAtOnce")
    subscriptions.mostAtOnce.foreach { case (arn, count) => most.put(arn, count) }
    json
  }

  private def callsJson: JsonNode = {
    val counts = JsonNodeFactory.instance.arrayNode()
    calls.counts.foreach { case (key, count) =>
      val item = counts.addObject().put("action", key.action).put("count", count)
      key.stream.foreach(item.put("stream", _))
      key.shard.foreach(item.put("shard", _))
    }
    val recent = JsonNodeFactory.instance.arrayNode()
    calls.recent.foreach { call =>
      val item = recent.addObject().put("atMillis", call.at).put("action", call.action).put("status", call.status)
      call.stream.foreach(item.put("stream", _))
      val shards = item.putArray("shards")
      call.shards.foreach(shards.add(_))
      call.start.foreach(item.put("start", _))
      call.error.foreach(item.put("error", _))
      item.put("records", call.records).put("protocol", call.protocol)
    }
    val json = node()
    json.set[ObjectNode]("counts", counts)
    json.set[ObjectNode]("recent", recent)
  }
}

private[testkit] object AdminHandler {
  private val Prefix = "/_testkit/"
  private val mapper = new ObjectMapper

  private def node(): ObjectNode                       = JsonNodeFactory.instance.objectNode()
  private def refuse(error: String): (Int, ObjectNode) = (400, node().put("error", error))
}
