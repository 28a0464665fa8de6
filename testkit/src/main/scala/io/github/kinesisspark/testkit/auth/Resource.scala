package io.github.kinesisspark.testkit.auth

/** What a call is about: a stream, a consumer, or neither (`*`).
  *
  * @param accountId the account that owns it
  * @param stream the stream's name, also for a consumer
  */
final private[testkit] case class Resource(accountId: String, stream: Option[String], arn: String)

private[testkit] object Resource {
  private val Arn = "arn:aws[^:]*:kinesis:[^:]*:(\\d{12}):stream/([^/]+)(?:/.*)?".r

  /** The stream or consumer of an ARN; none if it is malformed. */
  def of(arn: String): Option[Resource] = arn match {
    case Arn(account, stream) => Some(Resource(account, Some(stream), arn))
    case _                    => None
  }

  /** An account's streams as a whole. */
  def any(accountId: String): Resource = Resource(accountId, None, "*")
}
