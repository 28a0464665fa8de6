package io.github.kinesisspark.testkit.auth

/** Who makes a call.
  *
  * @param policy the identity policy, if the principal has one
  */
final private[testkit] case class Caller(accountId: String, arn: String, policy: Option[Policy])

private[testkit] object Caller {

  /** Whoever calls a server without accounts. */
  def owner(accountId: String): Caller = Caller(accountId, s"arn:aws:iam::$accountId:root", None)
}
