package io.github.kinesisspark.it.faults

import org.apache.spark.sql.Encoders
import org.scalatest.Suites
import software.amazon.awssdk.auth.credentials.{AwsCredentials, AwsCredentialsProvider, AwsSessionCredentials}

import io.github.kinesisspark.aws.AwsHome
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit._

/** Two streams of two accounts, each with credentials of its own, on a server that verifies each call's signature by the secret of its access
  * key, and lets neither account call the other's stream. The general keys are unknown there.
  */
final class KeysByStream(override protected val mode: Mode) extends TestkitSuite(KeysByStream.config) {
  import KeysByStream._

  override def suiteName: String = s"Keys by stream by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  // Made in a test: all suites of a JVM are made before the first one runs, and one config file is read at a time.
  private lazy val home = new AwsHome(kinesis.endpoint)

  override protected def afterAll(): Unit =
    try super.afterAll()
    finally home.close()

  /** A stream of that name in each account, by their ARNs. */
  private def streams(name: String): Seq[String] = Seq(Owner, Guest).map { account =>
    kinesis.streamsOf(account).createStream(name, 1)
    s"arn:aws:kinesis:${kinesis.region}:$account:stream/$name"
  }

  private def put(name: String, text: String): Seq[String] = for (account <- Seq(Owner, Guest)) yield {
    kinesis.streamsOf(account).put(name, "key", s"$text-$account")
    s"$text-$account"
  }

  private def general = service.options ++ Map("accessKeyId" -> "AKIDNOBODY", "secretAccessKey" -> "nobody")

  private def keys(stream: String, key: AccessKey) = Map(
    s"stream.$stream.accessKeyId"     -> key.id,
    s"stream.$stream.secretAccessKey" -> key.secret
  )

  private val StaticKeys = "static keys"
  private val Others     = "a profile and a class"

  /** A server that is called with another stream's credentials, or the general ones, refuses the call. */
  private def credentials(way: String, owned: String, guest: String): Map[String, String] =
    if (way == StaticKeys) keys(owned, OwnerKey) ++ keys(guest, GuestKey)
    else
      Map(
        s"stream.$owned.profile" ->
          home.keys("owner", OwnerSession.id, OwnerSession.secret, OwnerSession.session.get.token),
        s"stream.$guest.credentialsProvider"        -> classOf[SessionOfGuest].getName,
        s"stream.$guest.credentialsProvider.secret" -> GuestSession.secret
      )

  private def refusedCalls = kinesis.calls.recent.filter(_.error.exists(RefusedKey))

  describe("a query") {
    it("signs each call for a stream with that stream's own credentials") {
      for ((way, n) <- Seq(StaticKeys, Others).zipWithIndex) withClue(s"$way: ") {
        val name              = s"read-$n-$mode"
        val Seq(owned, guest) = streams(name): @unchecked
        val log               = new BatchLog
        val frame             = spark.readStream
          .format("kinesis")
          .options(general ++ mode.options ++ credentials(way, owned, guest))
          .option("streamArn", s"$owned,$guest")
          .option("startingPosition", "TRIM_HORIZON")
          .load()
        val early = put(name, "early")
        running(frame, checkpoint())(log.add) { query =>
          eventually(log.texts.sorted shouldBe early.sorted)
          val late = put(name, "late")
          eventually(log.texts.sorted shouldBe (early ++ late).sorted)
          query.exception shouldBe empty
        }
      }
      refusedCalls shouldBe empty
    }

    it("fails where a stream has no credentials of its own and the general ones are unknown") {
      val Seq(owned, guest) = streams(s"one-$mode"): @unchecked
      val failure           = intercept[Exception](
        spark.read
          .format("kinesis")
          .options(general ++ keys(owned, OwnerKey))
          .option("streamArn", s"$owned,$guest")
          .load()
          .collect()
      )
      failure.getMessage should (include("KINESIS_CREDENTIALS_REJECTED") and include(guest))
      kinesis.calls.clear()
    }
  }

  describe("a write") {
    it("signs each call for a stream with that stream's own credentials") {
      for (aggregate <- Seq("false", "true")) {
        val name              = s"written-$aggregate-$mode"
        val Seq(owned, guest) = streams(name): @unchecked
        val rows              = spark.createDataset(Seq("a", "b", "c"))(Encoders.STRING)
        for (way <- Seq(StaticKeys, Others)) withClue(s"$way: ") {
          save(
            rows
              .selectExpr("value AS data", s"'$owned' AS targetStream")
              .union(rows.selectExpr("value AS data", s"'$guest' AS targetStream")),
            general ++ credentials(way, owned, guest) + ("aggregate" -> aggregate)
          )
        }
        for ((stream, key) <- Seq(owned -> OwnerKey, guest -> GuestKey)) {
          val read = spark.read
            .format("kinesis")
            .options(general ++ keys(stream, key))
            .option("streamArn", stream)
            .load()
          texts(read).sorted shouldBe Seq("a", "a", "b", "b", "c", "c")
        }
      }
      refusedCalls shouldBe empty
    }
  }
}

object KeysByStream {
  private val Owner = "111122223333"
  private val Guest = "444455556666"

  private val OwnerKey     = AccessKey("AKIDOWNER", "owner/secret+key")
  private val GuestKey     = AccessKey("AKIDGUEST", "guest/secret+key")
  private val OwnerSession = AccessKey("ASIDOWNER", "owner/of+session", Some(SessionToken("owner-token")))
  private val GuestSession = AccessKey("ASIDGUEST", "guest/of+session", Some(SessionToken("guest-token")))

  private val RefusedKey = Set("UnrecognizedClientException", "InvalidSignatureException", "AccessDeniedException")

  private val config = KinesisServerConfig(
    accountId = Owner,
    requireSignature = true,
    accounts = Seq(
      Account(Owner, Seq(Principal.root(Owner, AccessKey("test", "test"), OwnerKey, OwnerSession))),
      Account(Guest, Seq(Principal.root(Guest, GuestKey, GuestSession)))
    )
  )

  /** A class of a user's, for one stream. */
  final class SessionOfGuest(parameters: java.util.Map[String, String]) extends AwsCredentialsProvider {
    override def resolveCredentials(): AwsCredentials = AwsSessionCredentials.create(
      GuestSession.id,
      parameters.get("secret"),
      GuestSession.session.get.token
    )
  }
}

class KeysByStreamSpec extends Suites(Mode.both.map(new KeysByStream(_)): _*)
