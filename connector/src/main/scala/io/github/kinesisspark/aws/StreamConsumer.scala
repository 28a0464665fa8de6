package io.github.kinesisspark.aws

import io.github.kinesisspark.error.OneLine
import io.github.kinesisspark.position.ConsumerArn
import software.amazon.awssdk.services.kinesis.model.{Consumer, ConsumerDescription}

/** A consumer of a stream, as the service describes it.
  *
  * @param createdMillis since 1970
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Consumer.html Consumer]]
  */
final case class StreamConsumer(arn: ConsumerArn, status: ConsumerStatus, createdMillis: Long) {
  def name: String = arn.name
}

object StreamConsumer {
  private[aws] def of(c: Consumer): StreamConsumer =
    StreamConsumer(
      ConsumerArn(c.consumerARN),
      ConsumerStatus.of(c.consumerStatusAsString),
      c.consumerCreationTimestamp.toEpochMilli
    )

  private[aws] def of(c: ConsumerDescription): StreamConsumer =
    StreamConsumer(
      ConsumerArn(c.consumerARN),
      ConsumerStatus.of(c.consumerStatusAsString),
      c.consumerCreationTimestamp.toEpochMilli
    )
}

/** @param text as the service writes it */
sealed abstract class ConsumerStatus(val text: String) extends Product with Serializable {
  override def toString: String = text
}

object ConsumerStatus {
  case object Creating                              extends ConsumerStatus("CREATING")
  case object Active                                extends ConsumerStatus("ACTIVE")
  case object Deleting                              extends ConsumerStatus("DELETING")
  final case class Other(override val text: String) extends ConsumerStatus(text)

  def of(text: String): ConsumerStatus =
    Seq(Creating, Active, Deleting).find(_.text == text).getOrElse(Other(OneLine(String.valueOf(text), 40)))
}
