package io.github.kinesisspark.position

/** One registration of a stream consumer: a consumer that is registered again under the same name has another ARN.
  *
  * @param name the consumer's, unique within its stream
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Consumer.html Consumer]]
  */
final case class ConsumerArn private (text: String, stream: StreamArn, name: String) {
  override def toString: String = text
}

object ConsumerArn {
  private val Form = "(arn:[^/]*:stream/[^/]*)/consumer/([A-Za-z0-9_.-]{1,128}):([0-9]+)".r

  def parse(text: String): Option[ConsumerArn] = text match {
    case Form(stream, name, _) => StreamArn.parse(stream).map(new ConsumerArn(text, _, name))
    case _                     => None
  }

  /** @throws java.lang.IllegalArgumentException where `text` is not the ARN of a stream consumer */
  def apply(text: String): ConsumerArn =
    parse(text).getOrElse(throw new IllegalArgumentException(s"'$text' is not the ARN of a Kinesis stream consumer"))
}
