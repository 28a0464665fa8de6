package io.github.kinesisspark.testkit

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.security.{KeyPair, KeyPairGenerator, Signature}
import java.security.interfaces.ECPublicKey
import java.security.spec.ECGenParameterSpec
import java.util.Base64
import scala.concurrent.duration._

/** The services behind `aws sso login` and `aws login`, by plain HTTP. Clients with the AWS SDK are in the integration tests. */
class LoginsSpec extends ServerSpec {
  import LoginsSpec._

  override protected def config: KinesisServerConfig = KinesisServerConfig(
    accountId = Owner,
    requireSignature = true,
    accounts = Seq(
      Account(
        Owner,
        Nil,
        Seq(Role(Reader, trusts = Nil), Role(Other, trusts = Nil)),
        Seq(
          Login(Reader, "token-0", Some("refresh-0"), tokenLife = 10.minutes),
          Login(Reader, "token-1", Some("refresh-1"))
        )
      )
    )
  )

  private val http = HttpClient.newHttpClient()

  private def send(request: HttpRequest.Builder): Answer = {
    val answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString())
    Answer(
      answer.statusCode,
      answer.headers.firstValue("x-amzn-ErrorType").orElse(""),
      new ObjectMapper().readTree(answer.body)
    )
  }

  private def get(token: String, role: String = "reader"): Answer = send(
    HttpRequest
      .newBuilder(URI.create(s"${server.endpoint}/federation/credentials?role_name=$role&account_id=$Owner"))
      .header("x-amz-sso_bearer_token", token)
  )

  private def post(path: String, body: String, headers: (String, String)*): Answer = {
    val request = HttpRequest
      .newBuilder(URI.create(s"${server.endpoint}$path"))
      .POST(HttpRequest.BodyPublishers.ofString(body))
    headers.foreach { case (name, value) => request.header(name, value) }
    send(request)
  }

  private def renew(token: String): Answer = post(
    "/token",
    s"""{"grantType":"refresh_token","clientId":"c","clientSecret":"s","refreshToken":"$token"}"""
  )

  private def signIn(token: String, proof: String): Answer = post(
    "/v1/token",
    s"""{"grantType":"refresh_token","clientId":"c","refreshToken":"$token"}""",
    "DPoP" -> proof
  )

  describe("GetRoleCredentials") {
    it("gives keys of the login's role, and of no other, for a token that it knows") {
      val keys = get("token-0").body.get("roleCredentials")
      keys.get("accessKeyId").asText should startWith("ASIASESSION")
      keys.get("expiration").asLong shouldBe clock.millis + 1.hour.toMillis
      get("unknown") should have(Symbol("status")(401), Symbol("error")("UnauthorizedException"))
      get("token-0", "other") should have(Symbol("status")(403), Symbol("error")("ForbiddenException"))
    }
  }

  describe("CreateToken") {
    it("gives an access token that expires, once for each refresh token") {
      val first = renew("refresh-0")
      first.body.get("expiresIn").asInt shouldBe 600
      get(first.text("accessToken")).status shouldBe 200
      renew("refresh-0") should have(Symbol("status")(400), Symbol("error")("InvalidGrantException"))
      clock.advance(java.time.Duration.ofMinutes(10))
      get(first.text("accessToken")).status shouldBe 401
      get(renew(first.text("refreshToken")).text("accessToken")).status shouldBe 200
    }
  }

  describe("CreateOAuth2Token") {
    it("gives keys for a refresh token, once, to who proves to have the private key for this very request") {
      val uri   = s"${server.endpoint}/v1/token"
      def now   = clock.instant.getEpochSecond
      val wrong = Seq(
        "",
        proof("GET", uri, now),
        proof("POST", s"${server.endpoint}/token", now),
        proof("POST", uri, now - 301),
        proof("POST", uri, now, signer = newKeys())
      )
      wrong.foreach(signIn("refresh-1", _).text("error") shouldBe "INVALID_REQUEST")
      val first = signIn("refresh-1", proof("POST", uri, now))
      first.body.get("accessToken").get("accessKeyId").asText should startWith("ASIASESSION")
      first.body.get("expiresIn").asInt shouldBe 900
      val again = signIn("refresh-1", proof("POST", uri, now))
      again should have(Symbol("status")(401), Symbol("error")("AccessDeniedException"))
      again.text("error") shouldBe "TOKEN_EXPIRED"
      signIn(first.text("refreshToken"), proof("POST", uri, now)).status shouldBe 200
    }
  }
}

object LoginsSpec {
  private val Owner  = "111122223333"
  private val Reader = s"arn:aws:iam::$Owner:role/reader"
  private val Other  = s"arn:aws:iam::$Owner:role/other"

  final case class Answer(status: Int, error: String, body: JsonNode) {
    def text(field: String): String = body.get(field).asText
  }

  private def newKeys(): KeyPair = {
    val generator = KeyPairGenerator.getInstance("EC")
    generator.initialize(new ECGenParameterSpec("secp256r1"))
    generator.generateKeyPair()
  }

  private val keys = newKeys()

  private def encoded(bytes: Array[Byte]): String = Base64.getUrlEncoder.withoutPadding.encodeToString(bytes)

  private def proof(method: String, uri: String, at: Long, signer: KeyPair = keys): String = {
    val point                               = keys.getPublic.asInstanceOf[ECPublicKey].getW
    def number(value: java.math.BigInteger) = encoded(value.toByteArray.dropWhile(_ == 0))
    val head                                =
      s"""{"typ":"dpop+jwt","alg":"ES256","jwk":{"kty":"EC","crv":"P-256","x":"${number(
          point.getAffineX
        )}","y":"${number(
          point.getAffineY
        )}"}}"""
    val claims    = s"""{"jti":"1","htm":"$method","htu":"$uri","iat":$at}"""
    val text      = Seq(head, claims).map(part => encoded(part.getBytes("UTF-8"))).mkString(".")
    val signature = Signature.getInstance("SHA256withECDSAinP1363Format")
    signature.initSign(signer.getPrivate)
    signature.update(text.getBytes("US-ASCII"))
    s"$text.${encoded(signature.sign())}"
  }
}
