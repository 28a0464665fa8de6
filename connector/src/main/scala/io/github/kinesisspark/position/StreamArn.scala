package io.github.kinesisspark.position

/** The name of a stream that holds across regions and accounts; offsets are keyed by it.
  *
  * @see [[https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonkinesisdatastreams.html the form of the ARN]]
  */
final case class StreamArn private (text: String, region: String, account: String, name: String) {
  // The text is all of it.
  override def equals(other: Any): Boolean = other match {
    case that: StreamArn => (this eq that) || text == that.text
    case _               => false
  }
  override def hashCode: Int    = text.hashCode
  override def toString: String = text
}

object StreamArn {
  private val Form = "arn:[a-z0-9-]+:kinesis:([a-z0-9-]+):([0-9]{12}):stream/([A-Za-z0-9_.-]{1,128})".r

  def parse(text: String): Option[StreamArn] = text match {
    case Form(region, account, name) => Some(new StreamArn(text, region, account, name))
    case _                           => None
  }

  /** @throws java.lang.IllegalArgumentException where `text` is not the ARN of a stream */
  def apply(text: String): StreamArn =
    parse(text).getOrElse(throw new IllegalArgumentException(s"'$text' is not the ARN of a Kinesis stream"))
}
