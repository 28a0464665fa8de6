package io.github.kinesisspark.it.faults

import java.net.URI
import java.nio.file.Files
import java.time.Instant

import scala.concurrent.duration._

import org.apache.spark.sql.{DataFrame, Encoders}
import org.scalatest.Suites

import io.github.kinesisspark.aws.AwsHome
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit._

/** Queries in the name of a role or of a person's login, on a server that verifies each signature and each session's expiry, and gives the
  * sessions itself. All goes over TLS with a certificate of the server's own authority. Subscriptions live 1 s, sessions 5 s.
  */
final class Roles(override protected val mode: Mode) extends TestkitSuite(Roles.config) {
  import Roles._

  override def suiteName: String = s"Roles by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  private val bundle = Files.createTempFile("ca-", ".pem")
  kinesis.writeCertificate(bundle)

  override protected def options(stream: TestStream): Map[String, String] = super.options(stream) ++ Map(
    "endpoint"    -> kinesis.tlsEndpoint.get.toString,
    "stsEndpoint" -> kinesis.tlsEndpoint.get.toString,
    "caBundle"    -> bundle.toString
  )

  // Made in a test: all suites of a JVM are made before the first one runs, and one config file is read at a time.
  private lazy val home = new AwsHome(new URI(s"https://localhost:${kinesis.tlsEndpoint.get.getPort}"))

  override protected def afterAll(): Unit =
    try super.afterAll()
    finally home.close()

  private def ofProfile(stream: TestStream, profile: String): Map[String, String] =
    (options(stream) -- Seq("accessKeyId", "secretAccessKey", "stsEndpoint")) + ("profile" -> profile)

  /** With the keys of the options, and without a role. */
  private def plainly(stream: TestStream): DataFrame =
    spark.read.format("kinesis").options(options(stream) - "stsEndpoint").load()

  private def assumed(action: String = "AssumeRole"): Seq[Call] =
    kinesis.calls.recent.filter(call => call.action == action && call.status == 200)

  describe("a query whose role's sessions expire every few seconds") {
    it("reads through the rotations, every record once and in order") {
      val stream = newStream(shards = 2)
      val log    = new BatchLog
      running(load(stream, "roleArn" -> Reader, "externalId" -> "ext-1"), checkpoint())(log.add) { query =>
        val first = put(stream, "first", 50)
        eventually(log.texts.sorted shouldBe first.sorted)
        val read = kinesis.clock.millis
        // The session of the records so far has ended, and calls are made with another.
        eventually {
          kinesis.calls.recent.exists { call =>
            call.action == mode.readCall && call.status == 200 && call.at > read + SessionLife.toMillis
          } shouldBe true
        }
        val second = put(stream, "second", 50)
        eventually(log.texts.sorted shouldBe (first ++ second).sorted)
        query.exception shouldBe empty
      }
      assumed().size should be >= 2
      inOrder(log)
    }
  }

  describe("a query of a profile that a person has logged in to, whose keys expire every few seconds") {
    it("reads through the rotations, every record once and in order: of SSO by polling, of aws login by fan-out") {
      val expired  = Instant.now.minusSeconds(60)
      val renewals =
        if (mode == Mode.Polling) {
          home.ssoLogin("session", "expired", expired, Some("sso-refresh"))
          home.ssoLogin("legacy", "legacy-token", Instant.now.plusSeconds(3600), isLegacy = true)
          Seq(home.session("session", role = "person"), home.legacy("legacy", role = "person"))
            .map(_ -> "GetRoleCredentials")
        } else {
          home.signInLogin("login", expired, "login-refresh")
          Seq(home.signIn("login") -> "CreateOAuth2Token")
        }
      for ((profile, renewal) <- renewals) withClue(s"$profile: ") {
        val stream = newStream(shards = 2)
        val log    = new BatchLog
        val before = assumed(renewal).size
        val frame  = spark.readStream
          .format("kinesis")
          .options(ofProfile(stream, profile) ++ mode.options)
          .option("startingPosition", "TRIM_HORIZON")
          .load()
        running(frame, checkpoint())(log.add) { query =>
          val first = put(stream, "first", 20)
          eventually(log.texts.sorted shouldBe first.sorted)
          val known = assumed(renewal).size
          eventually(assumed(renewal).size should be >= known + 2)
          val second = put(stream, "second", 20)
          eventually(log.texts.sorted shouldBe (first ++ second).sorted)
          query.exception shouldBe empty
        }
        assumed(renewal).size should be > before
        inOrder(log)
      }
    }

    it("fails at its first call with the command that helps when the login can't be renewed") {
      home.ssoLogin("over", "planted-access", Instant.now.minusSeconds(60), Some("planted-refresh"))
      val stream   = newStream(shards = 1)
      val begin    = System.nanoTime()
      val refusals = kinesis.calls.recent.count(call => call.action == "CreateToken" && call.status == 400)
      val failure  = intercept[Exception](
        spark.read.format("kinesis").options(ofProfile(stream, home.session("over"))).load().collect()
      )
      (System.nanoTime() - begin).nanos should be < 3.minutes
      failure.getMessage should (include("KINESIS_LOGIN_REQUIRED") and include("aws sso login --profile over") and
        not include "planted")
      // Neither repeated by the read nor by the SDK.
      kinesis.calls.recent.count(call => call.action == "CreateToken" && call.status == 400) shouldBe refusals + 1
    }
  }

  describe("a batch write") {
    it("to streams of two accounts uses the role of each, and of the sink for others") {
      val (own, other) = (newStream(shards = 1), new TestStream(service, "of-guest"))
      kinesis.streamsOf(Guest).createStream(other.name, 1)
      val texts_               = (1 to 10).map(n => s"w-$n")
      def rows(to: TestStream) =
        spark.createDataset(texts_)(Encoders.STRING).selectExpr("value AS data", s"'${to.name}' AS targetStream")
      save(rows(own).union(rows(other)), options(own) - "streamName" + (s"stream.${other.name}.roleArn" -> Writer))
      texts(plainly(own)).sorted shouldBe texts_.sorted
      texts(backfill(other, "roleArn" -> Writer)).sorted shouldBe texts_.sorted
      val refused = intercept[Exception](plainly(other).collect())
      refused.getMessage should include("KINESIS_NOT_FOUND")
    }
  }

  describe("a batch read") {
    it("uses the last role of a chain, and the role of a web identity") {
      val stream = newStream(shards = 1)
      val texts_ = put(stream, "b", 10)
      texts(backfill(stream, "roleChain" -> First, "roleArn" -> Second)).sorted shouldBe texts_.sorted
      val token = Files.writeString(Files.createTempFile("token", ""), "token-1")
      val keys  = Seq("accessKeyId", "secretAccessKey")
      val frame = spark.read
        .format("kinesis")
        .options((options(stream) -- keys) ++ Map("webIdentityTokenFile" -> token.toString, "roleArn" -> Federated))
        .load()
      texts(frame).sorted shouldBe texts_.sorted
      assumed("AssumeRoleWithWebIdentity") should not be empty
    }

    it("fails with STS's words where the role does not trust the caller") {
      val stream = newStream(shards = 1)
      for (wrong <- Seq(Seq("roleArn" -> Reader), Seq("roleArn" -> Second))) {
        val failure = intercept[Exception](backfill(stream, wrong: _*).collect())
        failure.getMessage should (include("KINESIS_ROLE_REFUSED") and include(
          "not authorized to perform: sts:AssumeRole"
        ))
      }
    }
  }
}

object Roles {
  private val Owner       = "111122223333"
  private val Guest       = "444455556666"
  private val Writer      = s"arn:aws:iam::$Guest:role/writer"
  private val SessionLife = 5.seconds

  private def arn(name: String) = s"arn:aws:iam::$Owner:role/$name"

  private val Reader    = arn("reader")
  private val First     = arn("first")
  private val Second    = arn("second")
  private val Federated = arn("federated")
  private val Person    = arn("person")

  private val roles = Seq(
    Role(Reader, trusts = Seq(Owner), externalId = Some("ext-1"), sessionLife = Some(SessionLife)),
    Role(First, trusts = Seq(Owner)),
    Role(Second, trusts = Seq(First)),
    Role(Person, trusts = Nil, sessionLife = Some(SessionLife)),
    Role(Federated, trusts = Nil, webIdentityTokens = Set("token-1"))
  )

  private val logins = Seq(
    Login(Person, "sso-token", Some("sso-refresh")),
    Login(Person, "legacy-token"),
    Login(Person, "login-token", Some("login-refresh"))
  )

  private val config = KinesisServerConfig(
    tlsPort = Some(0),
    accountId = Owner,
    requireSignature = true,
    accounts = Seq(
      Account(Owner, Seq(Principal.root(Owner, AccessKey("test", "test"))), roles, logins),
      Account(Guest, Nil, Seq(Role(Writer, trusts = Seq(Owner))))
    ),
    subscriptions = SubscriptionSettings(life = 1.second)
  )
}

class RoleSpec extends Suites(Mode.both.map(new Roles(_)): _*)
