package io.github.kinesisspark.aws

/** A failure that ends the query, the batch or the task.
  *
  * @param errorClass stable name for monitoring, such as `KINESIS_ACCESS_DENIED`; the message starts with it, as Spark's do
  * @param reason     what callers decide by
  */
class KinesisException(
    val errorClass: String,
    message: String,
    cause: Throwable = null,
    val reason: FailureReason = FailureReason.Other
) extends RuntimeException(s"[$errorClass] $message", cause) {

  /** The message without its error class. */
  def bareMessage: String = getMessage.stripPrefix(s"[$errorClass] ")
}

/** Why a call or a reader failed, as far as somebody decides by it. Travels from executors to the driver. */
sealed trait FailureReason extends Product with Serializable

object FailureReason {

  /** The stream, shard or consumer does not exist. */
  case object NotFound extends FailureReason

  /** The service cannot use a position or another argument. */
  case object InvalidArgument extends FailureReason

  case object ExpiredIterator extends FailureReason

  case object AccessDenied extends FailureReason

  /** Another query reads through this query's stream consumer. */
  case object ConsumerTaken extends FailureReason

  /** It may pass: the call was retried for as long as the policy allows. */
  case object Outage extends FailureReason

  case object Other extends FailureReason

  def of(fault: Fault): FailureReason = fault match {
    case _: Fault.NotFound                                             => NotFound
    case _: Fault.InvalidArgument                                      => InvalidArgument
    case _: Fault.ExpiredIterator                                      => ExpiredIterator
    case f: Fault.Fatal if f.kind.errorClass == FaultClassifier.Denied => AccessDenied
    case _: Fault.Throttled | _: Fault.ResourceInUse | _: Fault.Disconnected | _: Fault.Transient | _: Fault.Suspect =>
      Outage
    case _ => Other
  }
}
