package io.github.kinesisspark.it.faults

import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.duration._

import org.scalatest.Suites

import io.github.kinesisspark.aws.AwsHome
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit.{FaultRule, KinesisServer, KinesisServerConfig, SubscriptionSettings}
import io.github.kinesisspark.testkit.FaultEffect.ServiceCode

/** Credentials that change, and permissions and regions that don't fit. Subscriptions live 2 s here, because a live one needs
  * no credentials; the query's options are the defaults.
  */
final class CredentialsFaults(override protected val mode: Mode)
    extends TestkitSuite(
      KinesisServerConfig(tlsPort = Some(0), subscriptions = SubscriptionSettings(life = 2.seconds))
    ) {
  override def suiteName: String = s"Credentials faults by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  describe("a query whose credentials are rotated in its middle") {
    it("reads on with the new key after the service has refused the old one, every record once and in order") {
      RotatingCredentials.current = "key-1"
      val refusals = new AtomicInteger
      val taken    = new AtomicInteger
      val proxy    = new KinesisProxy(
        kinesis,
        refuse = {
          case KinesisProxy.Call(_, "key-1") if RotatingCredentials.current != "key-1" || RotatingCredentials.expired =>
            refusals.incrementAndGet()
            Some("ExpiredTokenException")
          case KinesisProxy.Call(action, "key-2") =>
            if (action == mode.readCall) taken.incrementAndGet()
            None
          case _ => None
        }
      )
      try {
        val stream  = newStream(shards = 2)
        val log     = new BatchLog
        val rotated = spark.readStream
          .format("kinesis")
          .options(options(stream) - "accessKeyId" - "secretAccessKey" ++ mode.options)
          .option("startingPosition", "TRIM_HORIZON")
          .option("endpoint", proxy.endpoint.toString)
          .option("credentialsProvider", classOf[RotatingCredentials].getName)
          .load()
        running(rotated, checkpoint())(log.add) { query =>
          val first = put(stream, "first", 100)
          eventually(log.texts.sorted shouldBe first.sorted)
          // The key expires before the provider has another: the service refuses it at least once.
          RotatingCredentials.expired = true
          eventually(refusals.get should be >= 1)
          RotatingCredentials.current = "key-2"
          val second = put(stream, "second", 100)
          eventually(log.texts.sorted shouldBe (first ++ second).sorted)
          eventually(taken.get should be >= 2)
          query.exception shouldBe empty
        }
        inOrder(log)
      } finally {
        RotatingCredentials.expired = false
        proxy.close()
      }
    }

    it("fails with an error that says so when no new key comes") {
      val proxy = new KinesisProxy(
        kinesis,
        refuse = call => Option.when(call.action == mode.readCall)("ExpiredTokenException")
      )
      try {
        val stream = newStream(shards = 1)
        // Nobody waits here for the default of 15 minutes.
        val options = Seq("endpoint" -> proxy.endpoint.toString, "maxRetryDuration" -> "10s")
        val failure = failureOf(start(stream, checkpoint(), new BatchLog, options: _*))
        failure.getMessage should (include("KINESIS_CREDENTIALS_EXPIRED") and include(mode.readCall))
        failure.getMessage should (include(stream.name) and include("roleArn") and include("credentialsProvider"))
      } finally proxy.close()
    }
  }

  describe("a query and a write with a profile whose process prints session keys") {
    def work(expiration: String): Unit = {
      val keys = s"""{"Version":1,"AccessKeyId":"test","SecretAccessKey":"test","SessionToken":"token"$expiration}"""
      val home = new AwsHome(kinesis.endpoint)
      try {
        val stream  = newStream(shards = 2)
        val log     = new BatchLog
        val profile = home.process(stream.name, s"echo '$keys'")
        val options = this.options(stream) - "accessKeyId" - "secretAccessKey" + ("profile" -> profile)
        val rows    = spark.range(0, 10, 1, 1).selectExpr("concat('w-', id) AS data")
        save(rows, options)
        val written = (0 until 10).map(n => s"w-$n")
        val frame   = spark.readStream
          .format("kinesis")
          .options(options ++ mode.options)
          .option("startingPosition", "TRIM_HORIZON")
          .load()
        running(frame, checkpoint())(log.add) { query =>
          eventually(log.texts.sorted shouldBe written.sorted)
          val more = put(stream, "more", 10)
          eventually(log.texts.sorted shouldBe (written ++ more).sorted)
          query.exception shouldBe empty
        }
      } finally home.close()
    }

    it("without expiration is served")(work(""))
    it("that expire in the year 9999 is served")(work(""","Expiration":"9999-12-31T23:59:59Z""""))
  }

  describe("a query in a region that does not have the stream") {
    it("fails with an error that names stream, region and endpoint") {
      val stream = newStream(shards = 1)
      val other  = KinesisServer.start(KinesisServerConfig(region = "eu-west-1"))
      try {
        val elsewhere = Seq("region" -> "eu-west-1", "endpoint" -> other.endpoint.toString)
        val failure   = failureOf(start(stream, checkpoint(), new BatchLog, elsewhere: _*))
        failure.getMessage should (include("KINESIS_NOT_FOUND") and include(s"stream ${stream.name}"))
        failure.getMessage should (include("region eu-west-1") and include(other.endpoint.toString))
      } finally other.close()
    }

    it("fails with an error that names the region when the service refuses the region of the signature") {
      val stream  = newStream(shards = 1)
      val refusal = ServiceCode(
        "InvalidSignatureException",
        "Credential should be scoped to a valid region, not 'eu-west-1'."
      )
      underFault(FaultRule(refusal, stream = Some(stream.name))) {
        val failure = failureOf(start(stream, checkpoint(), new BatchLog, "region" -> "eu-west-1"))
        failure.getMessage should (include(stream.name) and include("region eu-west-1") and include("valid region"))
      }
    }
  }

  private val actions = Seq("DescribeStreamSummary", "ListShards") ++ (mode match {
    case Mode.Polling => Seq("GetShardIterator", "GetRecords")
    case Mode.FanOut  => Seq("RegisterStreamConsumer", "DescribeStreamConsumer", "SubscribeToShard")
  })

  for (action <- actions)
    describe(s"a query without the permission kinesis:$action") {
      it("fails with an error that names the action and the resource") {
        val stream  = newStream(shards = 1)
        val refusal = ServiceCode("AccessDeniedException", s"not authorized to perform: kinesis:$action")
        underFault(FaultRule(refusal, Some(action))) {
          val failure = failureOf(start(stream, checkpoint()))
          failure.getMessage should (include("KINESIS_ACCESS_DENIED") and include(action) and include(stream.name))
          failure.getMessage should include(s"must allow kinesis:$action")
        }
      }
    }
}

class CredentialsFaultsSpec extends Suites(Mode.both.map(new CredentialsFaults(_)): _*)

/** A provider of a user's own that gives whatever key is the current one. */
final class RotatingCredentials {
  def resolveCredentials(): RotatingCredentials.Keys = new RotatingCredentials.Keys(RotatingCredentials.current)
}

object RotatingCredentials {
  @volatile var current: String  = "key-1"
  @volatile var expired: Boolean = false

  final class Keys(id: String) {
    def accessKeyId(): String     = id
    def secretAccessKey(): String = s"secret-of-$id"
    def sessionToken(): String    = s"token-of-$id"
  }
}
