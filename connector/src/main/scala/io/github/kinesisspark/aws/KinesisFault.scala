package io.github.kinesisspark.aws

import software.amazon.awssdk.awscore.exception.AwsServiceException

/** How a fault is told to people: what was being done, with what, what came back, what to do. */
object KinesisFault {

  /** @param action   the API's name of the call, such as `GetRecords`
    * @param resource what it was for: a stream's name or ARN, `stream/shardId`, a role
    */
  def describe(action: String, resource: String, fault: Fault): String =
    s"$action failed for $resource: ${answer(fault)}. ${fault.kind.advice.replace("<action>", action)}"

  /** @param attempts how often it was tried */
  def exception(action: String, resource: String, fault: Fault, attempts: Int = 1): KinesisException = {
    val tried = if (attempts > 1) s" Tried $attempts times." else ""
    new KinesisException(
      fault.kind.errorClass,
      describe(action, resource, fault) + tried,
      shown(fault),
      FailureReason.of(fault)
    )
  }

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
    said.linesIterator.nextOption().getOrElse("").take(MaxLength).stripSuffix(".")
  }

  private def named(e: Throwable): String = e.getClass.getSimpleName + message(e.getMessage)

  private def message(text: String): String = Option(text).filter(_.nonEmpty).fold("")(": " + _)

  private def shown(fault: Fault): Throwable = if (fault.kind.showsRequest) null else fault.cause

  private val MaxLength = 400
}
