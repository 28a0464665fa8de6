package io.github.kinesisspark.testkit.auth

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import java.math.BigInteger
import java.security.{AlgorithmParameters, KeyFactory, Signature}
import java.security.spec.{ECGenParameterSpec, ECParameterSpec, ECPoint, ECPublicKeySpec}
import java.time.Instant
import java.util.Base64
import scala.util.Try

/** The `DPoP` header of a request, which shows that its sender has a private key.
  *
  * @see [[https://datatracker.ietf.org/doc/html/rfc9449 RFC 9449]]
  */
private[testkit] object ProofOfPossession {
  private val LargestAge = 300L
  private val json       = new ObjectMapper

  /** What is wrong with a header.
    *
    * @param uri of the request, without its query
    */
  def problem(header: String, method: String, uri: String, now: Instant): Option[String] =
    Try {
      val Array(head, claims, signature) = header.split('.'): @unchecked
      val verifier                       = Signature.getInstance("SHA256withECDSAinP1363Format")
      verifier.initVerify(keyOf(parsed(head).get("jwk")))
      verifier.update(s"$head.$claims".getBytes("US-ASCII"))
      val said = parsed(claims)
      Seq(
        "typ"       -> (parsed(head).get("typ").asText == "dpop+jwt"),
        "alg"       -> (parsed(head).get("alg").asText == "ES256"),
        "signature" -> verifier.verify(bytes(signature)),
        "htm"       -> (said.get("htm").asText == method),
        "htu"       -> (said.get("htu").asText == uri),
        "iat"       -> (math.abs(said.get("iat").asLong - now.getEpochSecond) <= LargestAge)
      ).collectFirst { case (part, false) => s"The $part of the proof is wrong" }
    }.getOrElse(Some("There is no proof that can be read"))

  private def keyOf(jwk: JsonNode) = {
    val curve = AlgorithmParameters.getInstance("EC")
    curve.init(new ECGenParameterSpec("secp256r1"))
    def number(name: String) = new BigInteger(1, bytes(jwk.get(name).asText))
    KeyFactory
      .getInstance("EC")
      .generatePublic(
        new ECPublicKeySpec(new ECPoint(number("x"), number("y")), curve.getParameterSpec(classOf[ECParameterSpec]))
      )
  }

  private def parsed(part: String): JsonNode   = json.readTree(bytes(part))
  private def bytes(part: String): Array[Byte] = Base64.getUrlDecoder.decode(part)
}
