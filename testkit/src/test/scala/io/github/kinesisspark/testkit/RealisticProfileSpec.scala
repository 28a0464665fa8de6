package io.github.kinesisspark.testkit

import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.time.{Millis, Seconds, Span}
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials
import software.amazon.awssdk.http.{Protocol, ProtocolNegotiation}
import software.amazon.awssdk.services.kinesis.model._

import scala.collection.mutable
import scala.jdk.CollectionConverters._

/** Tests an ordinary client, with the SDK's own retries and signatures, on the realistic profile with accounts over TLS. */
class RealisticProfileSpec extends AnyFunSpec with Matchers with Eventually with BeforeAndAfterAll {
  import Clients._

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(200, Millis))

  private val own    = "111111111111"
  private val server = KinesisServer.start(
    KinesisServerConfig.realistic.copy(
      tls = TlsSettings(priorKnowledgePort = Some(0)),
      accountId = own,
      accounts = Seq(Account.of(own, AccessKey("AKIDOWN", "secret")))
    )
  )
  private val kinesis = client(
    server.priorKnowledgeTlsEndpoint.get,
    Protocol.HTTP2,
    retry = true,
    negotiation = ProtocolNegotiation.ASSUME_PROTOCOL,
    credentials = AwsBasicCredentials.create("AKIDOWN", "secret")
  )

  private val stream  = "events"
  private val arn     = s"arn:aws:kinesis:us-east-1:$own:stream/$stream"
  private def shardId = model.ShardInfo.id _

  private def summary(): StreamDescriptionSummary = await(
    kinesis.describeStreamSummary { (b: DescribeStreamSummaryRequest.Builder) => b.streamName(stream); () }
  ).streamDescriptionSummary

  private def statusOf(consumer: String): ConsumerStatus = await(
    kinesis.describeStreamConsumer { (b: DescribeStreamConsumerRequest.Builder) => b.consumerARN(consumer); () }
  ).consumerDescription.consumerStatus

  it("a client creates, writes, splits, reads and subscribes, and sees each step take its time") {
    kinesis.create(stream, 1)
    summary().streamStatus shouldBe StreamStatus.CREATING
    eventually(summary().streamStatus shouldBe StreamStatus.ACTIVE)
    kinesis.put(stream, "k", "data")

    await(kinesis.splitShard { (b: SplitShardRequest.Builder) =>
      b.streamName(stream).shardToSplit(shardId(0)).newStartingHashKey("1000"); ()
    })
    summary().streamStatus shouldBe StreamStatus.UPDATING
    kinesis.shards(stream) should have size 1
    val data     = mutable.Buffer.empty[String]
    var iterator = kinesis.iterator(stream, shardId(0))
    eventually {
      val answer = kinesis.get(iterator)
      data ++= answer.records.asScala.map(_.data.asUtf8String)
      Option(answer.nextShardIterator).foreach(iterator = _)
      answer.childShards.asScala.map(_.shardId) shouldBe Vector(1, 2).map(shardId)
    }
    data shouldBe Seq("data")
    eventually(kinesis.shards(stream) should have size 3)

    val consumer = await(kinesis.registerStreamConsumer { (b: RegisterStreamConsumerRequest.Builder) =>
      b.streamARN(arn).consumerName("reader"); ()
    }).consumer
    consumer.consumerStatus shouldBe ConsumerStatus.CREATING
    eventually(statusOf(consumer.consumerARN) shouldBe ConsumerStatus.ACTIVE)
    val subscriber = new Subscriber(kinesis, consumer.consumerARN, shardId(0), Subscriber.trimHorizon)
    Iterator.continually(subscriber.event()).flatMap(_.records.asScala).next().data.asUtf8String shouldBe "data"
    subscriber.cancel()
  }

  override protected def afterAll(): Unit = {
    kinesis.close()
    server.close()
  }
}
