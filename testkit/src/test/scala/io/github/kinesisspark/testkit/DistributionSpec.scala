package io.github.kinesisspark.testkit

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.github.kinesisspark.testkit.wire.WireFormat
import software.amazon.awssdk.services.kinesis.model._

import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import scala.jdk.CollectionConverters._

/** Streams that distribute records themselves, and records up to 10 MiB. Calls that the SDK's release has no words for are
  * made in JSON.
  */
class DistributionSpec extends ServerSpec {
  import Clients._

  private def call(action: String, body: String): (Int, JsonNode) = {
    val request = HttpRequest
      .newBuilder(server.endpoint)
      .header("X-Amz-Target", s"Kinesis_20131202.$action")
      .header("Content-Type", WireFormat.Json.contentType)
      .POST(HttpRequest.BodyPublishers.ofString(body))
      .build()
    val answer = HttpClient.newHttpClient.send(request, HttpResponse.BodyHandlers.ofString)
    val text   = if (answer.body.isEmpty) "{}" else answer.body
    (answer.statusCode, new ObjectMapper().readTree(text))
  }

  private def errorOf(answer: (Int, JsonNode)): String = {
    answer._1 shouldBe 400
    answer._2.get("__type").asText
  }

  private def onDemand(): String = {
    val stream = newStream(4)
    call(
      "UpdateStreamMode",
      s"""{"StreamARN":"${arn(stream)}","StreamModeDetails":{"StreamMode":"ON_DEMAND"}}"""
    )._1 shouldBe 200
    stream
  }

  private def arn(stream: String): String = server.streams.arnOf(stream)

  private def distribute(stream: String, strategy: String): (Int, JsonNode) = call(
    "UpdateStreamRecordDistributionStrategy",
    s"""{"StreamARN":"${arn(stream)}","RecordDistributionStrategy":"$strategy"}"""
  )

  describe("a stream in on-demand mode with the strategy AUTO") {
    it("takes records without a key and spreads all records evenly") {
      val stream = onDemand()
      distribute(stream, "AUTO")._1 shouldBe 200
      val entries =
        (1 to 4).map(_ => """{"Data":"YQ=="}""") ++ (1 to 4).map(_ => """{"Data":"YQ==","PartitionKey":"k"}""")
      val answer = call("PutRecords", s"""{"StreamName":"$stream","Records":[${entries.mkString(",")}]}""")._2
      answer.get("FailedRecordCount").asInt shouldBe 0
      val shards = answer.get("Records").elements.asScala.map(_.get("ShardId").asText).toVector
      shards.groupBy(identity).values.map(_.size).toVector shouldBe Vector.fill(4)(2)
      val record = kinesis.get(kinesis.iterator(stream, shards.head)).records
      record.asScala.map(_.partitionKey) shouldBe Vector(null, "k")
    }

    it("refuses PutRecord with SequenceNumberForOrdering") {
      val stream = onDemand()
      distribute(stream, "AUTO")
      val number = server.streams.put(stream, "k", "d").sequenceNumber
      val put    = s"""{"StreamName":"$stream","Data":"YQ==","SequenceNumberForOrdering":"$number"}"""
      errorOf(call("PutRecord", put)) shouldBe "InvalidArgumentException"
    }

    it("refuses records without a key once its strategy is USER_PARTITION_KEY") {
      val stream = onDemand()
      distribute(stream, "AUTO")
      distribute(stream, "USER_PARTITION_KEY")
      errorOf(call("PutRecord", s"""{"StreamName":"$stream","Data":"YQ=="}""")) shouldBe "ValidationException"
    }
  }

  it("UpdateStreamRecordDistributionStrategy refuses AUTO for a provisioned stream, and unknown strategies") {
    errorOf(distribute(newStream(1), "AUTO")) shouldBe "InvalidArgumentException"
    errorOf(distribute(onDemand(), "RANDOM")) shouldBe "ValidationException"
  }

  it("CreateStream makes an on-demand stream with the strategy AUTO, and refuses a provisioned one") {
    def create(name: String, more: String) =
      call("CreateStream", s"""{"StreamName":"$name","RecordDistributionStrategy":"AUTO"$more}""")
    create("distributing", "")._1 shouldBe 200
    call("PutRecord", """{"StreamName":"distributing","Data":"YQ=="}""")._1 shouldBe 200
    errorOf(create("provisioned", ""","ShardCount":1""")) shouldBe "InvalidArgumentException"
  }

  it("a stream takes records up to its MaxRecordSizeInKiB, 10 MiB at most, and gives them to readers") {
    val stream          = newStream(1)
    def put(bytes: Int) = kinesis.put(stream, "k", "x" * (bytes - 1))
    put(1024 * 1024)
    a[KinesisException] should be thrownBy put(1024 * 1024 + 1)
    await(kinesis.updateMaxRecordSize { (b: UpdateMaxRecordSizeRequest.Builder) =>
      b.streamARN(arn(stream)).maxRecordSizeInKiB(10240); ()
    })
    put(10 * 1024 * 1024)
    a[KinesisException] should be thrownBy put(10 * 1024 * 1024 + 1)
    kinesis.readAll(stream, shardId(0)).map(_.length + 1) shouldBe Vector(1024 * 1024, 10 * 1024 * 1024)
  }
}
