package io.github.kinesisspark.aws

import io.github.kinesisspark.error.{ErrorCatalogue, OneLine}
import software.amazon.awssdk.awscore.exception.AwsServiceException

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
) extends RuntimeException(s"[$errorClass] $message${ErrorCatalogue.suffix(errorClass)}", cause) {

  /** The message without its error class and the place of that in the catalogue. */
  def bareMessage: String = getMessage.stripPrefix(s"[$errorClass] ").stripSuffix(ErrorCatalogue.suffix(errorClass))
}

/** Why a call or a reader failed, in the cases that callers treat differently. Sent from executors to the driver. */
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

  /** An Error was thrown in this JVM, such as for want of memory or of a class. Another JVM may do without it. */
  case object BrokenJvm extends FailureReason

  case object Other extends FailureReason

  def of(fault: Fault): FailureReason = fault match {
    case _: Fault.NotFound        => NotFound
    case _: Fault.InvalidArgument => InvalidArgument
    case _: Fault.ExpiredIterator => ExpiredIterator
    case _: Fault.Denied          => AccessDenied
    case _: Fault.Throttled | _: Fault.ResourceInUse | _: Fault.Disconnected | _: Fault.Transient | _: Fault.Suspect =>
      Outage
    case _: Fault.Fatal if FaultClassifier.causes(fault.cause).exists(_.isInstanceOf[Error]) => BrokenJvm
    case _                                                                                   => Other
  }
}

/** Error messages of faults: which call failed, for which resource, with which answer, and what to do. */
object KinesisFault {

  /** @param resource what the call was for: a stream's name or ARN, `stream/shardId`, a role
    */
  def describe(action: AwsCall, resource: String, fault: Fault): String =
    s"$action failed for $resource: ${answer(fault)}. ${advice(action, fault)}"

  /** A call may need more than the action of its own name: one that tags needs kinesis:TagResource. */
  private def advice(action: AwsCall, fault: Fault): String = {
    val missing = fault match {
      case _: Fault.Denied => Refusal.findFirstMatchIn(Option(fault.cause.getMessage).getOrElse("")).map(_.group(1))
      case _               => None
    }
    fault.kind.advice.replace("<action>", missing.orElse(action.permission).getOrElse(action.toString))
  }

  /** @param attempts how often it was tried */
  def exception(action: AwsCall, resource: String, fault: Fault, attempts: Int = 1): KinesisException = {
    val tried = if (attempts > 1) s" Tried $attempts times." else ""
    new KinesisException(
      fault.kind.errorClass,
      describe(action, resource, fault) + tried,
      shown(fault),
      FailureReason.of(fault)
    )
  }

  /** A failure that is only logged, without what the request of a refused signature holds. */
  def inOneLine(failure: Throwable): String = answer(FaultClassifier.classify(failure))

  /** What the service or the network said, as one short line. The first line alone, because the others of a refused
    * signature hold the whole request.
    */
  private def answer(fault: Fault): String = {
    val said = fault.cause match {
      case e: AwsServiceException if e.awsErrorDetails != null =>
        val details = e.awsErrorDetails
        val request = Option(e.requestId).filter(_.nonEmpty).map(id => s", request $id").getOrElse("")
        val code    = Option(details.errorCode).getOrElse("an answer without error code")
        s"$code (${details.serviceName}, HTTP ${e.statusCode}$request)${message(details.errorMessage)}"
      case e =>
        val root = FaultClassifier.causes(e).last
        named(e) + (if (root eq e) "" else s" (${named(root)})")
    }
    val length = fault match {
      case _: Fault.Denied => MaxLengthOfRefusal
      case _               => MaxLength
    }
    OneLine(said.linesIterator.nextOption().getOrElse("").take(length), length).stripSuffix(".")
  }

  private def named(e: Throwable): String = e.getClass.getSimpleName + message(e.getMessage)

  private def message(text: String): String = Option(text).filter(_.nonEmpty).fold("")(": " + _)

  private def shown(fault: Fault): Throwable = if (fault.kind.showsRequest) null else fault.cause

  private val MaxLength = 400

  /** A refusal names principal, action and resource; two of them are ARNs. */
  private val MaxLengthOfRefusal = 1000

  private val Refusal = "not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)".r
}
