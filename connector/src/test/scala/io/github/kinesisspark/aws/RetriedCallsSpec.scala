package io.github.kinesisspark.aws

import java.util.concurrent.CompletionException

import scala.concurrent.duration._
import scala.util.Using

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider
import software.amazon.awssdk.services.sts.{StsAsyncClient, StsAsyncClientBuilder}
import software.amazon.awssdk.thirdparty.jackson.dataformat.cbor.CBORFactory

import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.AwsCall._
import io.github.kinesisspark.config.{ClientOptions, SourceOptions, StreamRef}
import io.github.kinesisspark.position.{ConsumerArn, ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.read.catalog.ShardProbes
import io.github.kinesisspark.read.reader.PublisherScene

/** Each call, with the options as a user gives them, on a server that fails that call alone. */
class RetriedCallsSpec extends AnyFunSpec with Matchers {
  private val stream   = StreamArn("arn:aws:kinesis:eu-west-1:000000000000:stream/orders")
  private val shard    = ShardKey(stream, "shardId-000000000000")
  private val consumer = ConsumerArn.parse(s"${stream.text}/consumer/app:1525898737").get

  private def callOf(request: StubServer.Request): String =
    request.headers
      .get("x-amz-target")
      .fold(request.body.takeWhile(_ != '&').stripPrefix("Action="))(
        _.split('.').last
      )

  /** Of those that give credentials, each server gets one. */
  private def isIt(call: AwsCall, request: StubServer.Request) =
    callOf(request) == call.toString || callOf(request) == AssumeRole.toString

  /** Answers of the calls that are made before the one that fails. */
  private def otherwise(call: String): StubServer.Answer = call match {
    case "DescribeStreamConsumer" => StubServer.error(400, "ResourceNotFoundException")
    case "GetShardIterator"       =>
      val body = Bodies.written(new CBORFactory) { json =>
        json.writeStartObject()
        json.writeStringField("ShardIterator", "i")
        json.writeEndObject()
      }
      StubServer.Answer(200, body, StubServer.Empty.headers)
    case _ => StubServer.Empty
  }

  /** How often the failing call was made. */
  private def madeWith(call: AwsCall, options: Map[String, String], status: Int = 500)(
      make: ClientOptions => Unit
  ): Int = {
    val prefix = s"${call.toString.head.toLower}${call.toString.tail}"
    Using.resource(
      new StubServer((request, _) =>
        if (isIt(call, request)) StubServer.error(status, "InternalFailure") else otherwise(callOf(request))
      )
    ) { server =>
      val asked = Map(
        "endpoint"              -> server.endpoint.toString,
        "accessKeyId"           -> "id",
        "secretAccessKey"       -> "secret",
        s"$prefix.backoff.base" -> "1ms",
        s"$prefix.backoff.max"  -> "1ms"
      ) ++ options.map { case (name, value) => s"$prefix.$name" -> value }
      make(SourceOptions.parse(asked + ("streamArn" -> stream.text)).client)
      server.requests.count(isIt(call, _))
    }
  }

  private def failing(work: => Any): Unit = intercept[KinesisException](work): Unit

  private def leased(work: ClientLease => Any)(options: ClientOptions): Unit =
    Using.resource(KinesisClients.ofJvm.lease(options, "eu-west-1"))(lease => failing(work(lease)))

  private def directory(work: StreamDirectory => Any): ClientOptions => Unit =
    leased(lease => work(new StreamDirectory(lease.client, BlockingCalls.of(lease))))

  private def consumers(work: ConsumerDirectory => Any): ClientOptions => Unit =
    leased(lease => work(ConsumerDirectoryTest.directory(lease.client, lease.retries)))

  private def peek: ClientOptions => Unit =
    leased(lease => new ShardProbes(lease.client, BlockingCalls.of(lease)).at(shard, ShardPosition.TrimHorizon, 1))

  private def polled(options: ClientOptions): Unit =
    Using.Manager { use =>
      val lease = use(KinesisClients.ofJvm.lease(options, "eu-west-1"))
      val scene = use(new PublisherScene(lease.client, retries = lease.retries))
      scene.polling().request()
      val end = 1.minute.fromNow
      while (scene.failures.isEmpty && end.hasTimeLeft()) Thread.sleep(5)
      scene.failures should have size 1
    }.get: Unit

  private def published(options: ClientOptions): Unit =
    Using.resource(new CloudWatch(options, "eu-west-1", options.endpoint)) { cloudWatch =>
      failing(cloudWatch.publish("streams", Nil, within = 1.minute, SilentCalls)(Seq("records" -> 1L)))
    }

  /** All services that give credentials are called by clients that are made the same way. */
  private def asked(call: AwsCall)(options: ClientOptions): Unit = {
    val service =
      ServiceClient("eu-west-1", options.connection, AnonymousCredentialsProvider.create(), options.endpoint)
    val client = service.make[StsAsyncClientBuilder, StsAsyncClient](call, StsAsyncClient.builder())
    try intercept[CompletionException](client.assumeRole(_.roleArn("role").roleSessionName("job"): Unit).join()): Unit
    finally client.close()
  }

  private def calls: Seq[(AwsCall, String, ClientOptions => Unit)] = Seq(
    (DescribeStreamSummary, "of the driver", directory(_.describe(StreamRef.ByArn(stream)))),
    (ListShards, "of the driver", directory(_.listShards(stream, ShardFilter.All))),
    (GetShardIterator, "of a reader", polled(_)),
    (GetShardIterator, "of the driver", peek),
    (GetRecords, "of a reader", polled(_)),
    (GetRecords, "of the driver", peek),
    (RegisterStreamConsumer, "of the driver", consumers(_.ready(stream, "app", owner = None))),
    (DescribeStreamConsumer, "of the driver", consumers(_.find(stream, "app"))),
    (ListStreamConsumers, "of the driver", consumers(_.list(stream))),
    (DeregisterStreamConsumer, "of the driver", consumers(_.deregister(consumer))),
    (ListTagsForResource, "of the driver", consumers(_.owner(consumer))),
    (TagResource, "of the driver", consumers(_.setOwner(consumer, ConsumerOwner.Unstarted))),
    (PutMetricData, "of the driver", published(_))
  )

  describe("a call that fails") {
    for ((call, place, make) <- calls)
      it(s"is made 1 + maxRetries times: $call $place") {
        for (retries <- Seq(0, 2)) madeWith(call, Map("maxRetries" -> retries.toString))(make) shouldBe 1 + retries
      }

    for (call <- Seq(AssumeRole, AssumeRoleWithWebIdentity, GetRoleCredentials, CreateToken, CreateOAuth2Token))
      it(s"is made 1 + maxRetries times by the AWS SDK: $call") {
        // More than the SDK would by itself.
        for (retries <- Seq(0, 2, 12))
          madeWith(call, Map("maxRetries" -> retries.toString))(asked(call)) shouldBe 1 + retries
      }

    it("may be given the largest number of retries: AssumeRole") {
      madeWith(AssumeRole, Map("maxRetries" -> Int.MaxValue.toString), status = 400)(asked(AssumeRole)) shouldBe 1
    }
  }

  describe("the wait before a retry") {
    it("grows by the call's own options") {
      val asked = Map(
        "streamName"                  -> "orders",
        "listShards.backoff.base"     -> "10ms",
        "listShards.backoff.max"      -> "5s",
        "listShards.backoff.expConst" -> "3.0"
      )
      val policy = RetryPolicy.of(ListShards, SourceOptions.parse(asked).client.retries)
      (1 to 7).map(policy.backoff.ceiling(_).toMillis) shouldBe Seq(10, 30, 90, 270, 810, 2430, 5000)
    }
  }
}
