package io.github.kinesisspark.testkit

import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, AwsCredentials, AwsSessionCredentials}
import software.amazon.awssdk.core.SdkGlobalTime
import software.amazon.awssdk.http.{Protocol, ProtocolNegotiation}
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._

import java.net.URI
import java.time.Duration
import scala.jdk.CollectionConverters._

/** Tests calls signed by the AWS SDK on a server that checks signatures. */
class SignatureSpec extends SubscriptionSuite {
  import Clients._
  import ProtocolNegotiation._

  private val ownId  = "111111111111"
  private val ownKey = AccessKey("AKIDOWN", "own/secret+key")
  private val reader = Principal.user(ownId, "reader", AccessKey("ASIDTEMP", "temp", Some(SessionToken("token-1"))))

  override protected def config: KinesisServerConfig = KinesisServerConfig(
    tlsPort = Some(0),
    tls = TlsSettings(priorKnowledgePort = Some(0)),
    accountId = ownId,
    accounts = Seq(Account(ownId, Seq(Principal.root(ownId, ownKey), reader))),
    requireSignature = true
  )

  private val own = AwsBasicCredentials.create(ownKey.id, ownKey.secret)

  private def session(id: String, secret: String, token: String): AwsCredentials =
    AwsSessionCredentials.create(id, secret, token)

  private def connect(
      credentials: AwsCredentials,
      endpoint: URI = server.endpoint,
      protocol: Protocol = Protocol.HTTP1_1,
      region: Region = Region.US_EAST_1,
      negotiation: ProtocolNegotiation = ASSUME_PROTOCOL
  ): KinesisAsyncClient =
    closing(client(endpoint, protocol, negotiation = negotiation, credentials = credentials, region = region))

  private def refusal(client: KinesisAsyncClient): (String, String) = {
    val error = the[KinesisException] thrownBy await(client.listStreams())
    error.statusCode shouldBe 400
    (error.awsErrorDetails.errorCode, error.awsErrorDetails.errorMessage)
  }

  private val mismatch = "The request signature we calculated does not match the signature you provided. Check your " +
    "AWS Secret Access Key and signing method. Consult the service documentation for details."

  for (
    (name, endpoint, protocol, negotiation) <- Seq(
      ("HTTP/1.1", server.endpoint, Protocol.HTTP1_1, ASSUME_PROTOCOL),
      ("HTTP/2 with prior knowledge", server.endpoint, Protocol.HTTP2, ASSUME_PROTOCOL),
      ("HTTP/1.1 over TLS", server.tlsEndpoint.get, Protocol.HTTP1_1, ASSUME_PROTOCOL),
      ("HTTP/2 over TLS by ALPN", server.tlsEndpoint.get, Protocol.HTTP2, ALPN),
      ("HTTP/2 over TLS without ALPN", server.priorKnowledgeTlsEndpoint.get, Protocol.HTTP2, ASSUME_PROTOCOL)
    )
  )
    it(
      s"${if (protocol == Protocol.HTTP2) "signed calls and subscriptions" else "signed calls"} are accepted over $name"
    ) {
      val signed = connect(own, endpoint, protocol, negotiation = negotiation)
      val stream = newStream(1)
      signed.put(stream, "key", "data ü")
      signed.readAll(stream, shardId(0)) shouldBe Vector("data ü")
      if (protocol == Protocol.HTTP2) {
        val subscriber = new Subscriber(signed, signed.register(arnOf(stream)), shardId(0), Subscriber.trimHorizon, 1)
        subscriber.event().records.asScala.map(_.data.asUtf8String) shouldBe Vector("data ü")
        subscriber.cancel()
      }
    }

  it("a call with a wrong secret, an unknown access key, another region or a wrong session token is refused") {
    refusal(connect(AwsBasicCredentials.create(ownKey.id, "wrong"))) shouldBe (("InvalidSignatureException", mismatch))
    val unrecognized = ("UnrecognizedClientException", "The security token included in the request is invalid.")
    refusal(connect(AwsBasicCredentials.create("AKIDNOBODY", "secret"))) shouldBe unrecognized
    refusal(connect(session(ownKey.id, ownKey.secret, "token-1"))) shouldBe unrecognized
    refusal(connect(session("ASIDTEMP", "temp", "token-2"))) shouldBe unrecognized
    refusal(connect(AwsBasicCredentials.create("ASIDTEMP", "temp"))) shouldBe unrecognized
    refusal(connect(own, region = Region.EU_WEST_1)) shouldBe
      (("InvalidSignatureException", "Credential should be scoped to a valid region, not 'eu-west-1'. "))
  }

  it(
    "a signature more than 5 minutes off the service's clock is refused, and accepted once the client corrects its clock"
  ) {
    val now = clock.instant
    clock.advance(Duration.ofMinutes(6))
    refusal(connect(own))._2 should startWith("Signature expired: ")
    clock.set(now.minus(Duration.ofMinutes(6)))
    refusal(connect(own))._2 should startWith("Signature not yet current: ")
    val retrying = closing(client(server.endpoint, retry = true, credentials = own))
    await(retrying.listStreams()).hasMoreStreams shouldBe false
    clock.set(now)
    // The SDK corrects the clock of all clients in the JVM.
    SdkGlobalTime.setGlobalTimeOffset(0)
  }

  describe("Credentials that a test rotates") {
    it("are refused after their session token expires, and new ones are accepted") {
      val before = connect(session("ASIDTEMP", "temp", "token-1"))
      await(before.listStreams())
      server.accessKeys.expire("ASIDTEMP", clock.instant.plusSeconds(60))
      await(before.listStreams())
      clock.advance(Duration.ofSeconds(60))
      refusal(before) shouldBe (("ExpiredTokenException", "The security token included in the request is expired"))
      server.accessKeys.add(reader.arn, AccessKey("ASIDNEXT", "next", Some(SessionToken("token-3"))))
      await(connect(session("ASIDNEXT", "next", "token-3")).listStreams())
    }

    it("are unknown after they are revoked") {
      server.accessKeys.add(reader.arn, AccessKey("AKIDSHORT", "short"))
      val short = connect(AwsBasicCredentials.create("AKIDSHORT", "short"))
      await(short.listStreams())
      server.accessKeys.revoke("AKIDSHORT")
      refusal(short)._1 shouldBe "UnrecognizedClientException"
    }
  }
}
