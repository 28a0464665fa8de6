package io.github.kinesisspark.testkit.http

import io.github.kinesisspark.testkit.{Call, CallLog, KinesisServerConfig}
import io.github.kinesisspark.testkit.auth.{Authentication, RoleSessions, SignedRequest}
import io.github.kinesisspark.testkit.model.ServiceError
import org.eclipse.jetty.http.HttpHeader
import org.eclipse.jetty.io.Content
import org.eclipse.jetty.server.{Handler, Request, Response}
import org.eclipse.jetty.util.Callback

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8

/** STS on the server's own endpoint: AssumeRole and AssumeRoleWithWebIdentity. Its calls are forms, which those of Kinesis never are.
  *
  * @see [[https://docs.aws.amazon.com/STS/latest/APIReference/welcome.html AWS STS]]
  */
final private[testkit] class StsHandler(
    config: KinesisServerConfig,
    authentication: Authentication,
    sessions: RoleSessions,
    calls: CallLog
) extends Handler.Abstract {
  import StsHandler._

  override def handle(request: Request, response: Response, callback: Callback): Boolean = {
    val ours = Option(request.getHeaders.get(HttpHeader.CONTENT_TYPE)).exists(_.startsWith(Form))
    if (ours) {
      val body           = SignedRequest.bytesOf(Content.Source.asByteBuffer(request))
      val form           = fieldsOf(new String(body, UTF_8))
      val action         = form.getOrElse("Action", "")
      val result         = answer(action, form, SignedRequest.of(request, body))
      val (status, text) = result match {
        case Right(session) => (200, granted(action, session))
        case Left(error)    => (error.status, refused(error))
      }
      val protocol = request.getConnectionMetaData.getProtocol
      val code     = result.left.toOption.map(_.code)
      calls.add(Call(config.clock.millis, action, None, Set.empty, None, status, code, 0, protocol))
      response.setStatus(status)
      response.getHeaders.put(HttpHeader.CONTENT_TYPE, "text/xml")
      Content.Sink.write(response, true, text, callback)
    }
    ours
  }

  private def answer(
      action: String,
      form: Map[String, String],
      request: SignedRequest
  ): Either[ServiceError, RoleSessions.Session] = {
    val role = form.getOrElse("RoleArn", "")
    val name = form.getOrElse("RoleSessionName", "")
    val life = form.get("DurationSeconds").flatMap(_.toLongOption)
    action match {
      case "AssumeRole" =>
        authentication.caller(request, "sts").left.map(inOwnWords).flatMap { caller =>
          sessions.assume(caller, role, name, form.get("ExternalId"), life)
        }
      case "AssumeRoleWithWebIdentity" =>
        sessions.assumeWith(form.getOrElse("WebIdentityToken", ""), role, name, life)
      case other => Left(ServiceError("InvalidAction", s"Could not find operation $other for version 2011-06-15"))
    }
  }
}

private[testkit] object StsHandler {
  private val Form = "application/x-www-form-urlencoded"

  /** STS calls some things otherwise than Kinesis does. */
  private def inOwnWords(error: ServiceError): ServiceError = error.code match {
    case "UnrecognizedClientException" => error.copy(code = "InvalidClientTokenId", status = 403)
    case "ExpiredTokenException"       => error.copy(code = "ExpiredToken", status = 403)
    case "InvalidSignatureException"   => error.copy(code = "SignatureDoesNotMatch", status = 403)
    case _                             => error
  }

  private def fieldsOf(form: String): Map[String, String] = form
    .split('&')
    .map(_.split("=", 2))
    .collect { case Array(name, value) => URLDecoder.decode(name, UTF_8) -> URLDecoder.decode(value, UTF_8) }
    .toMap

  private def granted(action: String, session: RoleSessions.Session): String =
    s"""<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result>
       |<AssumedRoleUser><Arn>${session.arn}</Arn><AssumedRoleId>${session.key.id}</AssumedRoleId></AssumedRoleUser>
       |<Credentials><AccessKeyId>${session.key.id}</AccessKeyId><SecretAccessKey>${session.key.secret}</SecretAccessKey>
       |<SessionToken>${session.token}</SessionToken><Expiration>${session.expiresAt}</Expiration></Credentials>
       |</${action}Result></${action}Response>""".stripMargin

  private def refused(error: ServiceError): String =
    s"""<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
       |<Code>${error.code}</Code><Message>${escaped(error.message)}</Message></Error></ErrorResponse>""".stripMargin

  private def escaped(text: String) = text.replace("&", "&amp;").replace("<", "&lt;")
}
