package io.github.kinesisspark.testkit.model

/** An error as a client sees it: the code in `__type`, the message, and the HTTP status. */
final case class ServiceError(code: String, message: String, status: Int = 400) {
  def raise(): Nothing = throw new ServiceException(this)
}

/** Carries an error to the HTTP edge; it is an answer, not a defect, and so has no stack trace. */
final class ServiceException(val error: ServiceError)
    extends RuntimeException(s"${error.code}: ${error.message}", null, false, false)

/** The service's errors, with messages like its own. */
object ServiceError {
  def invalidArgument(message: String): ServiceError = ServiceError("InvalidArgumentException", message)
  def notFound(message: String): ServiceError        = ServiceError("ResourceNotFoundException", message)
  def inUse(message: String): ServiceError           = ServiceError("ResourceInUseException", message)
  def limitExceeded(message: String): ServiceError   = ServiceError("LimitExceededException", message)
  def expiredIterator(message: String): ServiceError = ServiceError("ExpiredIteratorException", message)
  def expiredToken(message: String): ServiceError    = ServiceError("ExpiredNextTokenException", message)
  def serialization(message: String): ServiceError   = ServiceError("SerializationException", message)
  def throttled(message: String): ServiceError       = ServiceError("ProvisionedThroughputExceededException", message)
  def internalFailure(message: String): ServiceError = ServiceError("InternalFailure", message, 500)

  def streamNotFound(stream: String, account: String): ServiceError =
    notFound(s"Stream $stream under account $account not found.")

  def shardNotFound(shard: String, stream: String, account: String): ServiceError =
    notFound(s"Could not find shard $shard in stream $stream under account $account.")

  def validation(value: String, member: String, constraint: String): ServiceError = ServiceError(
    "ValidationException",
    s"1 validation error detected: Value '$value' at '$member' failed to satisfy constraint: $constraint"
  )

  def missing(member: String): ServiceError = validation("null", member, "Member must not be null")

  def unknownOperation(name: String): ServiceError =
    ServiceError("UnknownOperationException", s"The operation $name is not known to this service.")
}
