package io.github.kinesisspark.aws

/** What a failed call means. This is the only taxonomy of failures: [[FaultClassifier]] decides which failure is which fault, and
  * [[RetryPolicy]] decides from the fault whether and when the call is made again.
  */
sealed trait Fault extends Product with Serializable {

  /** The failure itself, without the wrappers of futures around it. */
  def cause: Throwable

  /** Which row of [[FaultTable.rows]] it is. */
  def kind: FaultKind
}

object Fault {

  /** More calls or bytes than a limit allows, by this query or by others on the shard. */
  final case class Throttled(kind: FaultKind, cause: Throwable) extends Fault

  /** The stream is CREATING, UPDATING or DELETING, or the consumer's shard has another subscription. */
  final case class ResourceInUse(kind: FaultKind, cause: Throwable) extends Fault

  /** The connection ended or fell silent. For a subscription that was open this is normal: the next one may begin at once. */
  final case class Disconnected(kind: FaultKind, cause: Throwable) extends Fault

  /** The service or the network fails in a way that passes by itself. */
  final case class Transient(kind: FaultKind, cause: Throwable) extends Fault

  /** May pass, but is a mistake in the configuration as long as no call of the client has succeeded: unknown host, refused
    * connection, TLS, clock skew, expired credentials.
    */
  final case class Suspect(kind: FaultKind, cause: Throwable) extends Fault

  /** A shard iterator past its 5 minutes: get a new one from the position. */
  final case class ExpiredIterator(kind: FaultKind, cause: Throwable) extends Fault

  /** A paging token past its 5 minutes: page from the beginning. */
  final case class ExpiredNextToken(kind: FaultKind, cause: Throwable) extends Fault

  /** The stream, shard or consumer does not exist. Never the same as the end of a shard: find out which of them is gone. */
  final case class NotFound(kind: FaultKind, cause: Throwable) extends Fault

  /** The service cannot use an argument, such as a position past retention, a stale iterator or a record that is too large. */
  final case class InvalidArgument(kind: FaultKind, cause: Throwable) extends Fault

  /** The calling thread was interrupted, or the call cancelled: the query or the task is being stopped. */
  final case class Cancelled(kind: FaultKind, cause: Throwable) extends Fault

  /** A policy of the caller, the stream or the consumer does not allow the call. */
  final case class Denied(kind: FaultKind, cause: Throwable) extends Fault

  /** Another attempt does not help. */
  final case class Fatal(kind: FaultKind, cause: Throwable) extends Fault
}

/** One kind of failure.
  *
  * @param errorClass   stable name for monitoring
  * @param advice       what to check or to do, for the error message; `<action>` in it stands for the IAM action that allows the call
  * @param showsRequest the service's answer may repeat the signed request with its session token: only its first line may be
  *                     shown, and the exception itself is never logged
  */
final case class FaultKind(errorClass: String, advice: String, showsRequest: Boolean = false)
