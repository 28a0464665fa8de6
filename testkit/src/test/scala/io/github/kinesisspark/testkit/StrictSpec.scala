package io.github.kinesisspark.testkit

import io.github.kinesisspark.testkit.wire.WireFormat
import software.amazon.awssdk.services.kinesis.model._

import java.net.http.{HttpClient, HttpRequest, HttpResponse}

/** Tests refusals that a server makes only if its configuration asks for them. */
class StrictSpec extends SubscriptionSuite {
  import Clients._

  override protected def config: KinesisServerConfig =
    KinesisServerConfig(requireSignature = true, futureTimestamps = FutureTimestamps.Refuse)

  it("a call without a signature is refused, and any signature is accepted") {
    val request = HttpRequest
      .newBuilder(server.endpoint)
      .header("X-Amz-Target", "Kinesis_20131202.ListStreams")
      .header("Content-Type", WireFormat.Json.contentType)
      .POST(HttpRequest.BodyPublishers.ofString("{}"))
      .build()
    val answer = HttpClient.newHttpClient.send(request, HttpResponse.BodyHandlers.ofString)
    answer.statusCode shouldBe 400
    answer.body should include("MissingAuthenticationTokenException")
    newStream(1)
    kinesis.shards("stream-1") should have size 1
  }

  it("an iterator, a subscription and shard filters at a future time are refused") {
    val stream = newStream(1)
    val later  = clock.instant.plusMillis(1)
    an[InvalidArgumentException] should be thrownBy
      kinesis.iterator(stream, shardId(0), ShardIteratorType.AT_TIMESTAMP, b => { b.timestamp(later); () })
    Seq(ShardFilterType.AT_TIMESTAMP, ShardFilterType.FROM_TIMESTAMP).foreach { kind =>
      an[InvalidArgumentException] should be thrownBy kinesis.shards(
        stream,
        b => {
          b.shardFilter { (f: ShardFilter.Builder) => f.`type`(kind).timestamp(later); () }
          ()
        }
      )
    }
    val refused = subscribe(consumer(stream), Subscriber.from(later)).failure()
    refused shouldBe an[InvalidArgumentException]
  }
}
