package io.github.kinesisspark.testkit

import software.amazon.awssdk.auth.credentials.AwsBasicCredentials
import software.amazon.awssdk.http.{Protocol, ProtocolNegotiation}
import software.amazon.awssdk.services.kinesis.model._

import java.time.Duration
import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

/** Tests a client with the SDK's own retries on the realistic profile, with accounts and over TLS. */
class RealisticProfileSpec extends ServerSpec {
  import Clients._

  private val own    = "111111111111"
  private val stream = "events"

  override protected def config: KinesisServerConfig = KinesisServerConfig.realistic.copy(
    tls = TlsSettings(priorKnowledgePort = Some(0)),
    accountId = own,
    accounts = Seq(Account.of(own, AccessKey("AKIDOWN", "secret")))
  )

  private lazy val sdk = closing(
    client(
      server.priorKnowledgeTlsEndpoint.get,
      Protocol.HTTP2,
      retry = true,
      negotiation = ProtocolNegotiation.ASSUME_PROTOCOL,
      credentials = AwsBasicCredentials.create("AKIDOWN", "secret")
    )
  )

  private def status(): StreamStatus = await(
    sdk.describeStreamSummary { (b: DescribeStreamSummaryRequest.Builder) => b.streamName(stream); () }
  ).streamDescriptionSummary.streamStatus

  private def statusOf(consumer: String): ConsumerStatus = await(
    sdk.describeStreamConsumer { (b: DescribeStreamConsumerRequest.Builder) => b.consumerARN(consumer); () }
  ).consumerDescription.consumerStatus

  private def pass(millis: Long): Unit = clock.advance(Duration.ofMillis(millis))

  /** The shard's answers to its end, one each second. */
  @tailrec private def readToEnd(iterator: String, read: Vector[GetRecordsResponse]): Vector[GetRecordsResponse] = {
    val answers = read :+ sdk.get(iterator)
    pass(1000)
    if (answers.last.nextShardIterator == null) answers
    else {
      answers.size should be < 100
      readToEnd(answers.last.nextShardIterator, answers)
    }
  }

  it("a client sees each of its steps take effect after its time: create, split, list, register, subscribe") {
    sdk.create(stream, 1)
    status() shouldBe StreamStatus.CREATING
    pass(300)
    status() shouldBe StreamStatus.ACTIVE
    sdk.put(stream, "k", "data")

    await(sdk.splitShard { (b: SplitShardRequest.Builder) =>
      b.streamName(stream).shardToSplit(shardId(0)).newStartingHashKey("1000"); ()
    })
    status() shouldBe StreamStatus.UPDATING
    pass(300)
    status() shouldBe StreamStatus.ACTIVE
    sdk.shards(stream) should have size 1
    pass(300)
    sdk.shards(stream) should have size 3

    val consumer = sdk.register(arnOf(stream))
    a[ResourceNotFoundException] should be thrownBy statusOf(consumer)
    pass(100)
    statusOf(consumer) shouldBe ConsumerStatus.CREATING
    pass(200)
    statusOf(consumer) shouldBe ConsumerStatus.ACTIVE

    val answers = readToEnd(sdk.iterator(stream, shardId(0)), Vector.empty)
    answers.flatMap(_.records.asScala).map(_.data.asUtf8String) shouldBe Vector("data")
    answers.last.childShards.asScala.map(_.shardId) shouldBe Vector(1, 2).map(shardId)
    val subscriber = new Subscriber(sdk, consumer, shardId(0), Subscriber.trimHorizon)
    Iterator.continually(subscriber.event()).flatMap(_.records.asScala).next().data.asUtf8String shouldBe "data"
    subscriber.cancel()
  }
}
