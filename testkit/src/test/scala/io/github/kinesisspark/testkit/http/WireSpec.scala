package io.github.kinesisspark.testkit.http

import com.fasterxml.jackson.databind.JsonNode
import io.github.kinesisspark.testkit._
import io.github.kinesisspark.testkit.wire.WireFormat

import software.amazon.eventstream.Message

import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.time.format.DateTimeFormatter
import java.time.ZonedDateTime
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** Tests bytes and headers of requests and answers without an SDK, and the server's control API. */
class WireSpec extends ServerSpec {

  private val http = HttpClient.newHttpClient

  private def send(method: String, path: String, body: Array[Byte], headers: (String, String)*) = {
    val request = HttpRequest
      .newBuilder(server.endpoint.resolve(path))
      .method(method, HttpRequest.BodyPublishers.ofByteArray(body))
    headers.foreach { case (name, value) => request.header(name, value) }
    http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray)
  }

  private def call(action: String, json: String, format: WireFormat = WireFormat.Json): HttpResponse[Array[Byte]] = {
    val body = format.mapper.writeValueAsBytes(WireFormat.Json.mapper.readTree(json))
    send("POST", "/", body, "X-Amz-Target" -> s"Kinesis_20131202.$action", "Content-Type" -> format.contentType)
  }

  private def read(json: Array[Byte]): JsonNode = WireFormat.Json.mapper.readTree(json)

  private def read(answer: HttpResponse[Array[Byte]]): JsonNode = read(answer.body)

  private def read(answer: HttpResponse[Array[Byte]], format: WireFormat): JsonNode =
    format.mapper.readTree(answer.body)

  private def admin(method: String, path: String, body: String = ""): (Int, JsonNode) = {
    val answer = send(method, s"/_testkit/$path", body.getBytes)
    (answer.statusCode, read(answer))
  }

  describe("JSON") {
    it("holds blobs in base64, and times in seconds with milliseconds") {
      val stream = newStream(1)
      read(call("PutRecord", s"""{"StreamName":"$stream","PartitionKey":"k","Data":"aGVsbG8="}"""))
      val iterator = read(
        call(
          "GetShardIterator",
          s"""{"StreamName":"$stream","ShardId":"${shardId(
              0
            )}","ShardIteratorType":"AT_TIMESTAMP","Timestamp":${clock.millis / 1000.0}}"""
        )
      ).get("ShardIterator").asText
      val record = read(call("GetRecords", s"""{"ShardIterator":"$iterator"}""")).get("Records").get(0)
      record.get("Data").asText shouldBe "aGVsbG8="
      record.get("PartitionKey").asText shouldBe "k"
      BigDecimal(record.get("ApproximateArrivalTimestamp").decimalValue) shouldBe BigDecimal(clock.millis, 3)
    }

    it("is the format of error answers, with type, message and status") {
      val answer = call("DescribeStream", """{"StreamName":"nobody"}""")
      answer.statusCode shouldBe 400
      read(answer).get("__type").asText shouldBe "ResourceNotFoundException"
      read(answer).get("message").asText should include("nobody")
    }
  }

  describe("CBOR") {
    it("holds blobs as bytes, and times as tagged milliseconds") {
      val stream = newStream(1)
      server.streams.put(stream, "k", "hello")
      val iterator = read(
        call(
          "GetShardIterator",
          s"""{"StreamName":"$stream","ShardId":"${shardId(
              0
            )}","ShardIteratorType":"AT_TIMESTAMP","Timestamp":${clock.millis}}""",
          WireFormat.Cbor
        ),
        WireFormat.Cbor
      ).get("ShardIterator").asText
      val answer = call("GetRecords", s"""{"ShardIterator":"$iterator"}""", WireFormat.Cbor)
      answer.headers.firstValue("Content-Type").get shouldBe "application/x-amz-cbor-1.1"
      val record = read(answer, WireFormat.Cbor).get("Records").get(0)
      new String(record.get("Data").binaryValue) shouldBe "hello"
      record.get("ApproximateArrivalTimestamp").longValue shouldBe clock.millis
    }

    it("is the format of error answers to CBOR requests") {
      val answer = call("DescribeStream", """{"StreamName":"nobody"}""", WireFormat.Cbor)
      read(answer, WireFormat.Cbor).get("__type").asText shouldBe "ResourceNotFoundException"
    }
  }

  describe("Headers") {
    it("hold a request ID, and the date by the server's clock and its skew") {
      val answer = call("ListStreams", "{}")
      answer.headers.firstValue("x-amzn-RequestId") should not be empty
      dateOf(answer) shouldBe clock.millis / 1000
      server.faults.add(FaultRule(FaultEffect.ClockSkew(10.minutes)))
      dateOf(call("ListStreams", "{}")) shouldBe clock.millis / 1000 + 600
      server.faults.clear()
    }
  }

  describe("A malformed request") {
    it("is answered with the error code that fits it") {
      def code(answer: HttpResponse[Array[Byte]]) = read(answer).get("__type").asText
      code(call("Dance", "{}")) shouldBe "UnknownOperationException"
      code(call("PutRecord", """{"StreamName":7}""")) shouldBe "SerializationException"
      code(call("PutRecord", """[]""")) shouldBe "SerializationException"
      code(call("ListShards", """{}""")) shouldBe "InvalidArgumentException"
      val target = "X-Amz-Target" -> "Kinesis_20131202.ListStreams"
      code(send("POST", "/", "{".getBytes, target, "Content-Type" -> "application/x-amz-json-1.1")) shouldBe
        "SerializationException"
      code(send("POST", "/", "{}".getBytes, target, "Content-Type" -> "text/plain")) shouldBe "SerializationException"
    }
  }

  describe("A subscription") {
    def subscribe(format: WireFormat): (String, RawSubscriptions.Live) = {
      val stream   = newStream(1)
      val consumer =
        read(call("RegisterStreamConsumer", s"""{"StreamARN":"${arnOf(stream)}","ConsumerName":"reader"}"""))
          .at("/Consumer/ConsumerARN")
          .asText
      server.streams.put(stream, "key", "hello")
      val json = s"""{"ConsumerARN":"$consumer","ShardId":"${shardId(0)}","StartingPosition":{"Type":"TRIM_HORIZON"}}"""
      val live = new RawSubscriptions.Live
      http.sendAsync(
        HttpRequest
          .newBuilder(server.endpoint)
          .version(HttpClient.Version.HTTP_1_1)
          .header("X-Amz-Target", "Kinesis_20131202.SubscribeToShard")
          .header("Content-Type", format.contentType)
          .POST(HttpRequest.BodyPublishers.ofByteArray(format.mapper.writeValueAsBytes(read(json.getBytes))))
          .build(),
        HttpResponse.BodyHandlers.fromSubscriber(live)
      )
      (consumer, live)
    }

    def headers(message: Message): Map[String, String] =
      message.getHeaders.asScala.view.mapValues(_.getString).toMap

    Seq[WireFormat](WireFormat.Json, WireFormat.Cbor).foreach { format =>
      it(s"is an event stream with payloads in $format if the request is in $format") {
        val (_, live) = subscribe(format)
        val first     = live.next()
        headers(first) shouldBe Map(
          ":message-type" -> "event",
          ":event-type"   -> "initial-response",
          ":content-type" -> format.contentType
        )
        val event = live.next()
        headers(event) shouldBe Map(
          ":message-type" -> "event",
          ":event-type"   -> "SubscribeToShardEvent",
          ":content-type" -> format.contentType
        )
        val members = format.mapper.readTree(event.getPayload)
        members.fieldNames.asScala.toSet shouldBe Set("Records", "ContinuationSequenceNumber", "MillisBehindLatest")
        new String(members.at("/Records/0/Data").binaryValue) shouldBe "hello"
        live.cancel()
      }
    }

    it("ends with an error frame if its consumer is deleted, and is listed under /_testkit while it lives") {
      val (consumer, live) = subscribe(WireFormat.Json)
      (1 to 2).foreach(_ => live.next())
      def view = admin("GET", "subscriptions")._2
      val seen = view.get("live").elements.asScala.filter(_.get("consumerArn").asText == consumer).toVector
      seen.map(s => (s.get("shardId").asText, s.get("events").asInt, s.get("records").asInt)) shouldBe
        Vector((shardId(0), 1, 1))
      seen.head.get("sinceMillis").asLong shouldBe clock.millis
      view.get("mostAtOnce").get(consumer).asInt shouldBe 1
      view.get("opened").asLong shouldBe server.subscriptions.opened
      call("DeregisterStreamConsumer", s"""{"ConsumerARN":"$consumer"}""")
      val error = live.next()
      headers(error) shouldBe Map(
        ":message-type"   -> "exception",
        ":exception-type" -> "ResourceNotFoundException",
        ":content-type"   -> "application/x-amz-json-1.1"
      )
      WireFormat.Json.mapper.readTree(error.getPayload).get("message").asText should include(consumer)
    }
  }

  describe("The control API under /_testkit") {
    it("reports health and the current time") {
      val (status, body) = admin("GET", "health")
      (status, body.get("status").asText, body.get("nowMillis").asLong) shouldBe ((200, "ok", clock.millis))
    }

    it("moves the clock") {
      val now = clock.millis
      admin("POST", "clock", """{"advanceMillis":1500}""")._2.get("nowMillis").asLong shouldBe now + 1500
      admin("POST", "clock", s"""{"setMillis":$now}""")._2.get("nowMillis").asLong shouldBe now
      for (
        wrong <- Seq(
          "{}",
          "",
          "advance",
          """{"advanceMillis":"1500"}""",
          """{"advanceMillis":1.5}""",
          """{"advanceMillis":-1}""",
          """{"setMillis":"now"}""",
          """{"setMillis":1,"advanceMillis":1}""",
          """{"setMillis":1,"advance":1}"""
        )
      ) withClue(wrong)(admin("POST", "clock", wrong)._1 shouldBe 400)
      clock.millis shouldBe now
    }

    it("adds, lists and removes fault rules") {
      admin("POST", "faults", """{"action":"ListStreams","first":1,"effect":{"type":"httpStatus","status":502}}""")
      call("ListStreams", "{}").statusCode shouldBe 502
      call("ListStreams", "{}").statusCode shouldBe 200
      val rule = admin("GET", "faults")._2.get("rules").get(0)
      (rule.get("matched").asInt, rule.get("struck").asInt) shouldBe ((2, 1))
      admin("DELETE", "faults")
      server.faults.list shouldBe empty
      admin("POST", "faults", """{"effect":{"type":"flood"}}""") match {
        case (status, body) =>
          status shouldBe 400
          body.get("error").asText should startWith("effect.type must be one of ")
      }
      admin("POST", "faults", "flood")._1 shouldBe 400
      admin("POST", "faults")._1 shouldBe 400
    }

    it("reports calls with their start positions") {
      val stream = newStream(1)
      call(
        "GetShardIterator",
        s"""{"StreamName":"$stream","ShardId":"${shardId(0)}","ShardIteratorType":"AT_TIMESTAMP","Timestamp":1.5}"""
      )
      val last = server.calls.recent.last
      (last.action, last.stream, last.shards, last.start, last.status) shouldBe
        (("GetShardIterator", Some(stream), Set(shardId(0)), Some("AT_TIMESTAMP 1500"), 200))
      server.calls.count("GetShardIterator", stream, shardId(0)) shouldBe 1
      server.calls.count("GetShardIterator", stream) shouldBe 1
      val recent = admin("GET", "calls")._2.get("recent")
      recent.get(recent.size - 1).get("start").asText shouldBe "AT_TIMESTAMP 1500"
      admin("DELETE", "calls")
      server.calls.recent shouldBe empty
      server.calls.count("GetShardIterator") shouldBe 0
    }

    it("answers 404 to an unknown path") {
      admin("GET", "nothing")._1 shouldBe 404
    }
  }

  private def dateOf(answer: HttpResponse[Array[Byte]]): Long =
    ZonedDateTime.parse(answer.headers.firstValue("Date").get, DateTimeFormatter.RFC_1123_DATE_TIME).toEpochSecond
}
