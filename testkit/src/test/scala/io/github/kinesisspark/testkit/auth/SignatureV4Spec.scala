package io.github.kinesisspark.testkit.auth

import org.scalatest.EitherValues
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import java.time.Instant

/** Tests Signature Version 4 on the examples of AWS's own test suite, and on what can be wrong with a signature. */
class SignatureV4Spec extends AnyFunSpec with Matchers with EitherValues {
  private val secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

  private def request(
      method: String,
      query: Option[String],
      signed: String,
      signature: String,
      more: (String, String)*
  ): SignedRequest = {
    val authorization = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
      s"SignedHeaders=$signed, Signature=$signature"
    val headers =
      Map(
        "host"          -> "example.amazonaws.com",
        "x-amz-date"    -> "20150830T123600Z",
        "authorization" -> authorization
      ) ++ more
    SignedRequest(method, "/", query, headers.map { case (name, value) => name -> Vector(value) }, Array.emptyByteArray)
  }

  private val vanilla = request(
    "GET",
    None,
    "host;x-amz-date",
    "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
  )

  it("a request without parameters matches AWS's signature (get-vanilla)") {
    SignatureV4.of(vanilla).value.mismatch(vanilla, secret) shouldBe None
  }

  it("a POST request matches AWS's signature (post-vanilla)") {
    val post =
      request("POST", None, "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b")
    SignatureV4.of(post).value.mismatch(post, secret) shouldBe None
  }

  it("a request with parameters in any order matches AWS's signature (get-vanilla-query-order-key-case)") {
    val signature = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
    for (query <- Seq("Param2=value2&Param1=value1", "Param1=value1&Param2=value2")) {
      val get = request("GET", Some(query), "host;x-amz-date", signature)
      SignatureV4.of(get).value.mismatch(get, secret) shouldBe None
    }
  }

  it("a signature does not match after the secret, a signed header, the query or the body changes") {
    val signature = SignatureV4.of(vanilla).value
    val changed   = Seq(
      vanilla.copy(headers = vanilla.headers.updated("host", Vector("other.amazonaws.com"))),
      vanilla.copy(query = Some("Param=1")),
      vanilla.copy(body = "x".getBytes),
      vanilla.copy(path = "/other"),
      vanilla.copy(method = "PUT")
    )
    changed.flatMap(signature.mismatch(_, secret)).map(_.code) shouldBe Seq.fill(5)("InvalidSignatureException")
    signature.mismatch(vanilla, "other").map(_.code) shouldBe Some("InvalidSignatureException")
    signature.mismatch(vanilla.copy(headers = vanilla.headers.updated("x-unsigned", Vector("1"))), secret) shouldBe None
  }

  describe("An Authorization header") {
    def codeAndMessage(request: SignedRequest): (String, String) = {
      val error = SignatureV4.of(request).left.value
      (error.code, error.message)
    }

    it("that is missing is refused with MissingAuthenticationTokenException") {
      codeAndMessage(vanilla.copy(headers = vanilla.headers - "authorization")) shouldBe
        (("MissingAuthenticationTokenException", "Missing Authentication Token"))
    }

    it("that lacks parts is refused with an error that names them") {
      val headers = vanilla.headers.updated("authorization", Vector("AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request"))
      codeAndMessage(vanilla.copy(headers = headers)) shouldBe (
        (
          "IncompleteSignatureException",
          "Authorization header requires 'Signature' parameter. " +
            "Authorization header requires 'SignedHeaders' parameter."
        )
      )
      codeAndMessage(vanilla.copy(headers = vanilla.headers - "x-amz-date"))._2 should include("'X-Amz-Date'")
    }
  }

  describe("A signature's scope and time") {
    val at        = Instant.parse("2015-08-30T12:36:00Z")
    val signature = SignatureV4.of(vanilla).value.copy(service = "kinesis")

    def refusal(signature: SignatureV4, now: Instant = at): Option[String] =
      signature.misplaced("us-east-1", now).map { error =>
        error.code shouldBe "InvalidSignatureException"
        error.message
      }

    it("is accepted up to 5 minutes before and after the service's time") {
      Seq(-300, 0, 300).flatMap(s => refusal(signature, at.plusSeconds(s.toLong))) shouldBe empty
    }

    it("is refused as expired when it is older") {
      refusal(signature, at.plusSeconds(301)) shouldBe
        Some("Signature expired: 20150830T123600Z is now earlier than 20150830T123601Z (20150830T124101Z - 5 min.)")
    }

    it("is refused as not yet current when it is newer") {
      refusal(signature, at.minusSeconds(301)) shouldBe
        Some(
          "Signature not yet current: 20150830T123600Z is still later than 20150830T123559Z (20150830T123059Z + 5 min.)"
        )
    }

    it("is refused for another region, another service or another day") {
      refusal(signature.copy(region = "eu-west-1")).get should include("valid region, not 'eu-west-1'")
      refusal(signature.copy(service = "sqs")).get should include("correct service: 'kinesis'")
      refusal(signature.copy(date = "20150829")).get should include("'20150829' != '20150830'")
    }
  }
}
