package io.github.kinesisspark.testkit

import software.amazon.awssdk.auth.credentials.AwsBasicCredentials
import software.amazon.awssdk.http.Protocol
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._

import scala.jdk.CollectionConverters._

/** Tests whose streams a call works on with several accounts, and what policies allow. */
class AccountsSpec extends ServerSpec {
  import AccountsSpec._
  import Clients._

  private val reader = Principal.user(Other, "reader", AccessKey("AKIDOTHER", "other"))
  private val least  = Principal
    .user(Own, "least", AccessKey("AKIDLEAST", "least"))
    .copy(policy =
      Some(
        s"""{"Statement":[
           |{"Effect":"Allow","Action":["kinesis:ListShards","kinesis:Get*","kinesis:RegisterStreamConsumer"],"Resource":"*"},
           |{"Effect":"Deny","Action":"kinesis:*","Resource":"arn:aws:kinesis:*:*:stream/secret"}]}""".stripMargin
      )
    )

  override protected def config: KinesisServerConfig = KinesisServerConfig(
    accountId = Own,
    accounts = Seq(
      Account(Own, Seq(Principal.root(Own, AccessKey("AKIDOWN", "own")), least)),
      Account(Other, Seq(reader))
    ),
    requireSignature = true
  )

  private def connect(id: String, secret: String): KinesisAsyncClient =
    closing(client(server.endpoint, credentials = AwsBasicCredentials.create(id, secret)))

  private lazy val own     = connect("AKIDOWN", "own")
  private lazy val other   = connect("AKIDOTHER", "other")
  private lazy val limited = connect("AKIDLEAST", "least")

  private def share(arn: String, actions: String*): Unit = {
    await(own.putResourcePolicy { (b: PutResourcePolicyRequest.Builder) =>
      b.resourceARN(arn)
        .policy(
          s"""{"Statement":{"Effect":"Allow","Principal":{"AWS":"$Other"},
             |"Action":[${actions.map(a => s"\"kinesis:$a\"").mkString(",")}],"Resource":"$arn"}}""".stripMargin
        )
      ()
    })
    ()
  }

  private def list(client: KinesisAsyncClient, arn: String): Vector[String] =
    await(client.listShards { (b: ListShardsRequest.Builder) => b.streamARN(arn); () }).shards.asScala
      .map(_.shardId)
      .toVector

  private def register(client: KinesisAsyncClient, arn: String, name: String, tags: (String, String)*): Consumer =
    await(client.registerStreamConsumer { (b: RegisterStreamConsumerRequest.Builder) =>
      b.streamARN(arn).consumerName(name)
      if (tags.nonEmpty) b.tags(tags.toMap.asJava)
      ()
    }).consumer

  private def refusal(call: => Any): String =
    (the[AccessDeniedException] thrownBy call).awsErrorDetails.errorMessage

  describe("A stream of another account") {
    it("is refused by ARN until its resource policy allows the action") {
      val stream = newStream(1)
      val arn    = arnOf(stream)
      refusal(list(other, arn)) shouldBe
        s"User: ${reader.arn} is not authorized to perform: kinesis:ListShards on resource: $arn " +
        "because no resource-based policy allows the kinesis:ListShards action"
      share(arn, "ListShards", "GetShardIterator", "GetRecords")
      list(other, arn) shouldBe Vector(shardId(0))
      server.streams.put(stream, "k", "shared")
      val iterator = await(other.getShardIterator { (b: GetShardIteratorRequest.Builder) =>
        b.streamARN(arn).shardId(shardId(0)).shardIteratorType(ShardIteratorType.TRIM_HORIZON); ()
      }).shardIterator
      other.get(iterator).records.asScala.map(_.data.asUtf8String) shouldBe Vector("shared")
      refusal(
        await(other.describeStreamSummary { (b: DescribeStreamSummaryRequest.Builder) => b.streamARN(arn); () })
      ) should include("kinesis:DescribeStreamSummary")
      await(own.deleteResourcePolicy { (b: DeleteResourcePolicyRequest.Builder) => b.resourceARN(arn); () })
      refusal(other.get(iterator)) should include("kinesis:GetRecords")
    }

    it("keeps its pages of ListShards readable by token alone") {
      val arn = arnOf(newStream(3))
      share(arn, "ListShards")
      val first = await(other.listShards { (b: ListShardsRequest.Builder) => b.streamARN(arn).maxResults(2); () })
      await(
        other.listShards { (b: ListShardsRequest.Builder) => b.nextToken(first.nextToken); () }
      ).shards should have size 1
    }

    it("is not the stream of the same name in the caller's account") {
      val stream = newStream(1)
      a[ResourceNotFoundException] should be thrownBy other.shards(stream)
      server.streamsOf(Other).createStream(stream, shards = 2)
      other.shards(stream) should have size 2
      own.shards(stream) should have size 1
      await(other.listStreams()).streamNames.asScala should contain(stream)
      list(other, arnOf(stream, Other)) should have size 2
      refusal(list(own, arnOf(stream, Other))) should include(s"User: arn:aws:iam::$Own:root is not authorized")
    }

    it("keeps its resource policy to its own account, even if the policy says otherwise") {
      val arn = arnOf(newStream(1))
      share(arn, "*")
      refusal(
        await(other.getResourcePolicy { (b: GetResourcePolicyRequest.Builder) => b.resourceARN(arn); () })
      ) should include("kinesis:GetResourcePolicy")
    }
  }

  describe("A consumer of another account's stream") {
    it("takes subscriptions after a policy of its own allows them") {
      val h2c =
        closing(client(server.endpoint, Protocol.HTTP2, credentials = AwsBasicCredentials.create("AKIDOTHER", "other")))
      val stream     = newStream(1)
      val consumer   = register(own, arnOf(stream), "reader").consumerARN
      def attempt()  = new Subscriber(h2c, consumer, shardId(0), Subscriber.trimHorizon)
      def describe() = await(other.describeStreamConsumer { (b: DescribeStreamConsumerRequest.Builder) =>
        b.streamARN(arnOf(stream)).consumerName("reader"); ()
      })
      server.streams.put(stream, "k", "shared")
      share(arnOf(stream), "SubscribeToShard", "DescribeStreamConsumer")
      attempt().failure().getMessage should include(s"kinesis:SubscribeToShard on resource: $consumer")
      refusal(describe()) should include(s"kinesis:DescribeStreamConsumer on resource: $consumer")
      share(consumer, "SubscribeToShard", "DescribeStreamConsumer")
      describe().consumerDescription.consumerARN shouldBe consumer
      val subscriber = attempt().opened()
      subscriber.event().records.asScala.map(_.data.asUtf8String) shouldBe Vector("shared")
      subscriber.cancel()
    }
  }

  describe("A resource policy") {
    it("is returned as it was put, until it is deleted") {
      val arn = arnOf(newStream(1))
      share(arn, "ListShards")
      def get() = await(own.getResourcePolicy { (b: GetResourcePolicyRequest.Builder) => b.resourceARN(arn); () })
      get().policy should include("kinesis:ListShards")
      await(own.deleteResourcePolicy { (b: DeleteResourcePolicyRequest.Builder) => b.resourceARN(arn); () })
      get().policy shouldBe "{}"
    }

    it("is refused if it has a condition, which this server can't evaluate") {
      val arn   = arnOf(newStream(1))
      val error =
        the[InvalidArgumentException] thrownBy await(own.putResourcePolicy { (b: PutResourcePolicyRequest.Builder) =>
          b.resourceARN(arn)
            .policy("""{"Statement":{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*","Condition":{}}}""")
          ()
        })
      error.getMessage should include("Condition")
    }
  }

  describe("An identity policy") {
    it("allows its actions only, and its denials win") {
      val stream = newStream(1)
      list(limited, arnOf(stream)) shouldBe Vector(shardId(0))
      refusal(limited.put(stream, "k", "d")) shouldBe
        s"User: ${least.arn} is not authorized to perform: kinesis:PutRecord on resource: ${arnOf(stream)} " +
        "because no identity-based policy allows the kinesis:PutRecord action"
      server.streams.createStream("secret", 1)
      refusal(limited.shards("secret")) should endWith("with an explicit deny in an identity-based policy")
    }

    it("must allow kinesis:TagResource to register a consumer with tags") {
      val stream = newStream(1)
      refusal(register(limited, arnOf(stream), "tagged", "team" -> "data")) should
        include(s"kinesis:TagResource on resource: ${arnOf(stream)}/consumer/tagged:")
      register(limited, arnOf(stream), "plain").consumerName shouldBe "plain"
      val tagged = register(own, arnOf(stream), "tagged", "team" -> "data").consumerARN
      await(
        own.listTagsForResource { (b: ListTagsForResourceRequest.Builder) => b.resourceARN(tagged); () }
      ).tags.asScala
        .map(t => t.key -> t.value) shouldBe Vector("team" -> "data")
    }
  }
}

object AccountsSpec {
  private val Own   = "111111111111"
  private val Other = "222222222222"
}
