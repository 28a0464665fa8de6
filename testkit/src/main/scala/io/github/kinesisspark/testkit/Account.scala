package io.github.kinesisspark.testkit

import java.time.Instant

/** An AWS account that may call the server, with the principals that it has.
  *
  * @param id twelve digits
  */
final case class Account(id: String, principals: Seq[Principal]) {
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
