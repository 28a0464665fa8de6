package io.github.kinesisspark.testkit.auth

import io.github.kinesisspark.testkit.model.ServiceError

import org.eclipse.jetty.server.Request

import java.net.URLDecoder
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.time.format.DateTimeFormatter
import java.time.{Instant, ZoneOffset}
import java.util.Locale
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec
import scala.jdk.CollectionConverters._
import scala.util.Try

/** An HTTP request as its signature covers it.
  *
  * @param path as it was sent, encoded
  * @param headers by lower-case name
  */
final private[testkit] case class SignedRequest(
    method: String,
    path: String,
    query: Option[String],
    headers: Map[String, Vector[String]],
    body: Array[Byte]
) {
  def header(name: String): Option[String] = headers.get(name).flatMap(_.headOption)
}

private[testkit] object SignedRequest {
  def of(http: Request, body: Array[Byte]): SignedRequest = {
    val uri     = http.getHttpURI
    val headers = http.getHeaders.asScala.groupMap(_.getName.toLowerCase(Locale.ROOT))(_.getValue)
    // HTTP/2 has the authority in place of the Host header.
    val host = "host" -> Vector(uri.getAuthority)
    SignedRequest(
      http.getMethod,
      uri.getPath,
      Option(uri.getQuery),
      Map(host) ++ headers.view.mapValues(_.toVector),
      body
    )
  }

  def bytesOf(buffer: ByteBuffer): Array[Byte] = {
    val bytes = new Array[Byte](buffer.remaining)
    buffer.get(bytes)
    bytes
  }
}

/** An Authorization header of Signature Version 4, in its parts.
  *
  * @param date, region, service of the credential scope
  */
final private[testkit] case class SignatureV4(
    accessKeyId: String,
    date: String,
    region: String,
    service: String,
    signedHeaders: Vector[String],
    signature: String,
    at: Instant
) {
  import SignatureV4._

  /** Why its scope or its time is refused, if it is.
    *
    * @param of  the service
    * @param now its time
    */
  def misplaced(inRegion: String, now: Instant, of: String = Kinesis): Option[ServiceError] = {
    val (oldest, newest) = (now.minusMillis(ToleranceMillis), now.plusMillis(ToleranceMillis))
    val problem          =
      if (region != inRegion) Some(s"Credential should be scoped to a valid region, not '$region'. ")
      else if (service != of) Some(s"Credential should be scoped to correct service: '$of'. ")
      else if (date != amz(at).take(8))
        Some(
          s"Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '$date' != '${amz(at).take(8)}', from '${amz(at)}'."
        )
      else if (at.isBefore(oldest))
        Some(s"Signature expired: ${amz(at)} is now earlier than ${amz(oldest)} (${amz(now)} - 5 min.)")
      else if (at.isAfter(newest))
        Some(s"Signature not yet current: ${amz(at)} is still later than ${amz(newest)} (${amz(now)} + 5 min.)")
      else None
    problem.map(invalid)
  }

  /** Why the signature is refused, if it isn't the request's with this secret. */
  def mismatch(request: SignedRequest, secret: String): Option[ServiceError] = {
    val expected = hex(hmac(signingKey(secret), toSign(request)))
    Option.unless(MessageDigest.isEqual(expected.getBytes(UTF_8), signature.getBytes(UTF_8)))(
      invalid(
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access " +
          "Key and signing method. Consult the service documentation for details."
      )
    )
  }

  private def toSign(request: SignedRequest): String =
    Vector(Algorithm, amz(at), s"$date/$region/$service/$Terminator", hex(sha256(canonical(request).getBytes(UTF_8))))
      .mkString("\n")

  private def canonical(request: SignedRequest): String = {
    val headers = signedHeaders.map { name =>
      s"$name:${request.headers.getOrElse(name, Vector.empty).map(_.trim.replaceAll(" +", " ")).mkString(",")}\n"
    }
    Vector(
      request.method,
      canonicalPath(request.path),
      canonicalQuery(request.query),
      headers.mkString,
      signedHeaders.mkString(";"),
      hex(sha256(request.body))
    ).mkString("\n")
  }

  private def signingKey(secret: String): Array[Byte] =
    Vector(region, service, Terminator).foldLeft(hmac(s"AWS4$secret".getBytes(UTF_8), date))(hmac)
}

/** Signature Version 4 as the service checks it.
  *
  * @see [[https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html Create a signed request]]
  * @see [[https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html Troubleshoot Signature Version 4]]
  */
private[testkit] object SignatureV4 {
  private val Algorithm       = "AWS4-HMAC-SHA256"
  private val Terminator      = "aws4_request"
  private val Kinesis         = "kinesis"
  private val ToleranceMillis = 5 * 60 * 1000L
  private val AmzDate         = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC)

  /** The request's signature, or the service's answer to its absence or to missing parts. */
  def of(request: SignedRequest): Either[ServiceError, SignatureV4] = request.header("authorization") match {
    case None         => Left(missing)
    case Some(header) =>
      val parts =
        header.stripPrefix(Algorithm).split(',').map(_.trim.split("=", 2)).collect { case Array(k, v) => k -> v }.toMap
      val scope =
        parts.get("Credential").map(_.split('/')).collect { case Array(key, date, region, service, Terminator) =>
          (key, date, region, service)
        }
      val at     = request.header("x-amz-date").orElse(request.header("date")).flatMap(timeOf)
      val signed = for {
        (key, date, region, service) <- scope
        names                        <- parts.get("SignedHeaders")
        signature                    <- parts.get("Signature")
        time                         <- at
        if header.startsWith(Algorithm)
      } yield SignatureV4(key, date, region, service, names.split(';').toVector, signature, time)
      signed.toRight(incomplete(parts, at))
  }

  private val missing = ServiceError("MissingAuthenticationTokenException", "Missing Authentication Token")

  private def incomplete(parts: Map[String, String], at: Option[Instant]): ServiceError = {
    val absent = Vector("Credential", "Signature", "SignedHeaders").filterNot(parts.contains)
    val lines  = absent.map(name => s"Authorization header requires '$name' parameter.") ++
      Option.when(at.isEmpty)(
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
      ) ++
      Option.when(absent.isEmpty && at.nonEmpty)(
        "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term."
      )
    ServiceError("IncompleteSignatureException", lines.mkString(" "))
  }

  private def invalid(message: String): ServiceError = ServiceError("InvalidSignatureException", message)

  private def amz(time: Instant): String = AmzDate.format(time)

  private def timeOf(text: String): Option[Instant] =
    Try(Instant.from(AmzDate.parse(text)))
      .orElse(Try(Instant.from(DateTimeFormatter.RFC_1123_DATE_TIME.parse(text))))
      .toOption

  // What was sent is encoded once; the signature covers it encoded once more.
  private def canonicalPath(path: String): String =
    if (path.isEmpty) "/" else path.split("/", -1).map(encode).mkString("/")

  private def canonicalQuery(query: Option[String]): String = query
    .filter(_.nonEmpty)
    .fold(Vector.empty[String])(_.split('&').toVector)
    .map { pair =>
      val (name, value) = pair.span(_ != '=')
      (encode(URLDecoder.decode(name, UTF_8)), encode(URLDecoder.decode(value.drop(1), UTF_8)))
    }
    .sorted
    .map { case (name, value) => s"$name=$value" }
    .mkString("&")

  private def encode(text: String): String = text
    .getBytes(UTF_8)
    .map { byte =>
      val char = byte.toChar
      if (byte > 0 && (char.isLetterOrDigit || "-_.~".indexOf(char.toInt) >= 0)) char.toString
      else f"%%${byte & 0xff}%02X"
    }
    .mkString

  private def hmac(key: Array[Byte], text: String): Array[Byte] = {
    val mac = Mac.getInstance("HmacSHA256")
    mac.init(new SecretKeySpec(key, "HmacSHA256"))
    mac.doFinal(text.getBytes(UTF_8))
  }

  private def sha256(bytes: Array[Byte]): Array[Byte] = MessageDigest.getInstance("SHA-256").digest(bytes)

  private def hex(bytes: Array[Byte]): String = java.util.HexFormat.of.formatHex(bytes)
}
