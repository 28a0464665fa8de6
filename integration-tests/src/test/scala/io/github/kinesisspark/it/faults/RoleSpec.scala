package io.github.kinesisspark.it.faults

import java.nio.file.Files

import scala.concurrent.duration._

import org.scalatest.Suites

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit._

/** Queries in the name of a role, on a server that verifies each signature and each session's expiry, and gives the sessions itself. All
  * goes over TLS with a certificate of the server's own authority. Subscriptions live 1 s, sessions 1.5 s.
  */
final class Roles(override protected val mode: Mode) extends TestkitSuite(Roles.config) {
  import Roles._

  override def suiteName: String = s"Roles by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  private val bundle = Files.createTempFile("ca-", ".pem")
  kinesis.writeCertificate(bundle)

  private val reading = if (mode == Mode.Polling) "GetRecords" else "SubscribeToShard"

  override protected def options(stream: TestStream): Map[String, String] = super.options(stream) ++ Map(
    "endpoint"    -> kinesis.tlsEndpoint.get.toString,
    "stsEndpoint" -> kinesis.tlsEndpoint.get.toString,
    "caBundle"    -> bundle.toString
  )

  private def assumed(action: String = "AssumeRole"): Seq[Call] =
    kinesis.calls.recent.filter(call => call.action == action && call.status == 200)

  describe("a query whose role's sessions expire every second or two") {
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
            call.action == reading && call.status == 200 && call.at > read + SessionLife.toMillis
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
  private val SessionLife = 1500.millis

  private def arn(name: String) = s"arn:aws:iam::$Owner:role/$name"

  private val Reader    = arn("reader")
  private val First     = arn("first")
  private val Second    = arn("second")
  private val Federated = arn("federated")

  private val roles = Seq(
    Role(Reader, trusts = Seq(Owner), externalId = Some("ext-1"), sessionLife = Some(SessionLife)),
    Role(First, trusts = Seq(Owner)),
    Role(Second, trusts = Seq(First)),
    Role(Federated, trusts = Nil, webIdentityTokens = Set("token-1"))
  )

  private val config = KinesisServerConfig(
    tlsPort = Some(0),
    accountId = Owner,
    requireSignature = true,
    accounts = Seq(Account(Owner, Seq(Principal.root(Owner, AccessKey("test", "test"))), roles)),
    subscriptions = SubscriptionSettings(life = 1.second)
  )
}

class RoleSpec extends Suites(Mode.both.map(new Roles(_)): _*)
