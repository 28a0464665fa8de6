package io.github.kinesisspark.testkit.http

import io.github.kinesisspark.testkit.{Call, CallLog, KinesisServerConfig}
import io.github.kinesisspark.testkit.auth.{LoginSessions, ProofOfPossession, RoleSessions, SignedRequest}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode
import org.eclipse.jetty.http.HttpHeader
import org.eclipse.jetty.io.Content
import org.eclipse.jetty.server.{Handler, Request, Response}
import org.eclipse.jetty.util.{Callback, Fields}

import java.nio.ByteBuffer
import java.time.Duration

/** The services behind `aws sso login` and `aws login` on the server's own endpoint: the portal of IAM Identity Center, which gives keys of
  * roles, its OIDC service, which renews tokens, and AWS Sign-In, which gives keys for a refresh token. Their paths are none of Kinesis.
  *
  * @see [[https://docs.aws.amazon.com/singlesignon/latest/PortalAPIReference/API_GetRoleCredentials.html GetRoleCredentials]]
  * @see [[https://docs.aws.amazon.com/singlesignon/latest/OIDCAPIReference/API_CreateToken.html CreateToken]]
  * @see [[https://docs.aws.amazon.com/signin/latest/APIReference/API_CreateOAuth2Token.html CreateOAuth2Token]]
  */
final private[testkit] class LoginHandler(config: KinesisServerConfig, roles: RoleSessions, calls: CallLog)
    extends Handler.Abstract {
  import LoginHandler._

  private val logins = new LoginSessions(config)

  override def handle(request: Request, response: Response, callback: Callback): Boolean = {
    val action = (request.getMethod, request.getHttpURI.getPath) match {
      case ("GET", "/federation/credentials") => Some("GetRoleCredentials" -> (() => credentials(request)))
      case ("POST", "/token")                 => Some("CreateToken" -> (() => token(bodyOf(request))))
      case ("POST", "/v1/token")              => Some("CreateOAuth2Token" -> (() => signIn(request, bodyOf(request))))
      case _                                  => None
    }
    action.foreach { case (name, answer) =>
      val result   = answer()
      val protocol = request.getConnectionMetaData.getProtocol
      calls.add(Call(config.clock.millis, name, None, Set.empty, None, result.status, result.error, 0, protocol))
      response.setStatus(result.status)
      response.getHeaders.put(HttpHeader.CONTENT_TYPE, "application/json")
      result.error.foreach(response.getHeaders.put("x-amzn-ErrorType", _))
      response.write(true, ByteBuffer.wrap(json.writeValueAsBytes(result.body)), callback)
    }
    action.nonEmpty
  }

  private def credentials(request: Request): Answer = {
    val asked = Request.extractQueryParameters(request)
    val arn   = s"arn:aws:iam::${valueOf(asked, "account_id")}:role/${valueOf(asked, "role_name")}"
    Option(request.getHeaders.get("x-amz-sso_bearer_token")).flatMap(logins.roleOf) match {
      case None => Answer.refused(401, "UnauthorizedException", "message" -> "Session token not found or invalid")
      case Some(role) if role != arn => Answer.refused(403, "ForbiddenException", "message" -> "No access")
      case Some(role)                =>
        val session = roles.give(role, SessionName)
        val body    = json.createObjectNode()
        keysInto(body.putObject("roleCredentials"), session).put("expiration", session.expiresAt.toEpochMilli)
        Answer(200, body)
    }
  }

  private def token(asked: JsonNode): Answer =
    logins.next(textOf(asked, "refreshToken")).filter(_ => isRefresh(asked, "clientSecret")) match {
      case None =>
        Answer.refused(
          400,
          "InvalidGrantException",
          "error"             -> "invalid_grant",
          "error_description" -> "Invalid refresh token provided"
        )
      case Some(given) =>
        val body = json
          .createObjectNode()
          .put("accessToken", given.accessToken)
          .put("refreshToken", given.refreshToken)
          .put("tokenType", "Bearer")
          .put("expiresIn", given.login.tokenLife.toSeconds.toInt)
        Answer(200, body)
    }

  private def signIn(request: Request, asked: JsonNode): Answer = {
    val proof   = Option(request.getHeaders.get("DPoP")).getOrElse("")
    val problem =
      ProofOfPossession.problem(proof, "POST", request.getHttpURI.asString.takeWhile(_ != '?'), config.clock.instant)
    def used = logins.used(textOf(asked, "refreshToken")).filter(_ => isRefresh(asked, "clientId"))
    problem.map(why => Answer.denied("INVALID_REQUEST", why)).getOrElse {
      used.fold(Answer.denied("TOKEN_EXPIRED", "The refresh token has expired")) { case (login, following) =>
        val session = roles.give(login.role, SessionName)
        val left    = Duration.between(config.clock.instant, session.expiresAt).toSeconds
        val body    = json.createObjectNode()
        keysInto(body.putObject("accessToken"), session)
        body.put("tokenType", "aws_sigv4").put("expiresIn", math.min(left, LongestLife).toInt)
        Answer(200, body.put("refreshToken", following))
      }
    }
  }
}

private[testkit] object LoginHandler {
  private val SessionName = "person"

  // Sign-In's keys live for a quarter of an hour.
  private val LongestLife = 900L
  private val json        = new ObjectMapper

  final private case class Answer(status: Int, body: ObjectNode, error: Option[String] = None)

  private object Answer {
    def refused(status: Int, error: String, fields: (String, String)*): Answer = {
      val body = json.createObjectNode()
      fields.foreach { case (name, text) => body.put(name, text) }
      Answer(status, body, Some(error))
    }

    def denied(error: String, message: String): Answer =
      refused(401, "AccessDeniedException", "error" -> error, "message" -> message)
  }

  private def keysInto(node: ObjectNode, session: RoleSessions.Session): ObjectNode =
    node
      .put("accessKeyId", session.key.id)
      .put("secretAccessKey", session.key.secret)
      .put("sessionToken", session.token)

  private def bodyOf(request: Request): JsonNode =
    json.readTree(SignedRequest.bytesOf(Content.Source.asByteBuffer(request)))

  private def isRefresh(asked: JsonNode, needed: String): Boolean =
    textOf(asked, "grantType") == "refresh_token" && textOf(asked, needed).nonEmpty

  private def textOf(node: JsonNode, field: String): String = node.path(field).asText("")
  private def valueOf(fields: Fields, name: String): String = Option(fields.getValue(name)).getOrElse("")
}
