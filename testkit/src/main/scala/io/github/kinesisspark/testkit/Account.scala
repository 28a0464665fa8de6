package io.github.kinesisspark.testkit

import java.time.Instant
import scala.concurrent.duration._

/** An AWS account that may call the server, with the principals and roles that it has.
  *
  * @param id twelve digits
  * @param logins of persons, with the roles that they have
  */
final case class Account(id: String, principals: Seq[Principal], roles: Seq[Role] = Nil, logins: Seq[Login] = Nil) {
  require(id.matches("\\d{12}"), s"Account id '$id': twelve digits expected")
}

object Account {

  /** An account with one principal, its root user. */
  def of(id: String, accessKeys: AccessKey*): Account = Account(id, Seq(Principal.root(id, accessKeys: _*)))
}

/** A user, a role session or the root user of an account.
  *
  * @param arn as refusals name it, for example `arn:aws:iam::111111111111:user/reader`
  * @param policy the identity policy in JSON: only what it allows is allowed. Without one, everything in the own account is
  * @see [[https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html Policy evaluation logic]]
  */
final case class Principal(arn: String, accessKeys: Seq[AccessKey], policy: Option[String] = None)

object Principal {
  def root(accountId: String, accessKeys: AccessKey*): Principal =
    Principal(s"arn:aws:iam::$accountId:root", accessKeys)

  def user(accountId: String, name: String, accessKeys: AccessKey*): Principal =
    Principal(s"arn:aws:iam::$accountId:user/$name", accessKeys)
}

/** A role, whose sessions the server's STS gives.
  *
  * @param arn for example `arn:aws:iam::111111111111:role/reader`
  * @param trusts ARNs of principals and roles, or ids of accounts, that may assume it
  * @param externalId what they must say
  * @param policy what a session may do; without one, everything in the own account
  * @param webIdentityTokens what an identity provider has given out for it
  * @param sessionLife how long sessions last, whatever is asked for. STS itself has 15 minutes at least
  */
final case class Role(
    arn: String,
    trusts: Seq[String],
    externalId: Option[String] = None,
    policy: Option[String] = None,
    webIdentityTokens: Set[String] = Set.empty,
    sessionLife: Option[FiniteDuration] = None
)

/** What a person has logged in to with a browser, by `aws sso login` or `aws login`.
  *
  * @param role the ARN of the role whose keys the login gives
  * @param accessToken what the portal of IAM Identity Center takes from the start
  * @param refreshToken what a new access token, or AWS Sign-In's keys, are given for; good for once, as is the next one that it gives
  * @param tokenLife how long the access tokens last that are given for it
  */
final case class Login(
    role: String,
    accessToken: String,
    refreshToken: Option[String] = None,
    tokenLife: FiniteDuration = 1.hour
)

/** What a caller signs with.
  *
  * @param session the session token of temporary credentials, which each call must then carry
  */
final case class AccessKey(id: String, secret: String, session: Option[SessionToken] = None)

/** A session token.
  *
  * @param expiresAt from when on the service's clock it is refused
  * @see [[https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_temp_use-resources.html Temporary credentials]]
  */
final case class SessionToken(token: String, expiresAt: Option[Instant] = None)
