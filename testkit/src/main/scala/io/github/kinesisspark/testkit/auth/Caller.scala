package io.github.kinesisspark.testkit.auth

/** Who makes a call.
  *
  * @param policy the identity policy, if the principal has one
  * @param roleArn the role whose session the caller is, if it is one
  */
final private[testkit] case class Caller(
    accountId: String,
    arn: String,
    policy: Option[Policy],
    roleArn: Option[String] = None
)

private[testkit] object Caller {

  /** Whoever calls a server without accounts. */
  def owner(accountId: String): Caller = Caller(accountId, s"arn:aws:iam::$accountId:root", None)
}
