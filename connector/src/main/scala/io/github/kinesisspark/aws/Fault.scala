package io.github.kinesisspark.aws

/** What went wrong with a call, sorted by what a caller can do about it. How long to go on is the caller's policy; which
  * failure is which is [[FaultClassifier]]'s.
  */
sealed trait Fault extends Product with Serializable {

  /** The failure itself, without the wrappers of futures around it. */
  def cause: Throwable

  /** Which row of [[FaultClassifier.table]] it is. */
  def kind: FaultKind
}

object Fault {

  /** More calls or bytes than a limit allows, ours or that of others on the shard: slow down and go on, for ever. */
  final case class Throttled(kind: FaultKind, cause: Throwable) extends Fault

  /** A shard iterator past its 5 minutes: get a new one from the position. */
  final case class ExpiredIterator(kind: FaultKind, cause: Throwable) extends Fault

  /** A paging token past its 5 minutes: page from the beginning. */
  final case class ExpiredNextToken(kind: FaultKind, cause: Throwable) extends Fault

  /** The stream is CREATING, UPDATING or DELETING, or the consumer is taken: try again in a while. */
  final case class ResourceInUse(kind: FaultKind, cause: Throwable) extends Fault

  /** The stream, shard or consumer isn't there. Never the same as the end of a shard: ask what is gone. */
  final case class NotFound(kind: FaultKind, cause: Throwable) extends Fault

  /** The service can't use an argument, a position past retention or a stale iterator for instance: try once with a fresh
    * one, then fail.
    */
  final case class InvalidArgument(kind: FaultKind, cause: Throwable) extends Fault

  /** Network, server errors, time-outs.
    *
    * @param selfHealing the usual weather, worth retrying for as long as the query runs; otherwise it may pass, but is more
    *                    likely a matter for people (no such host, a wrong clock): retry a few times and tell
    */
  final case class Transient(kind: FaultKind, cause: Throwable, selfHealing: Boolean) extends Fault

  /** The calling thread was interrupted, or the call cancelled: someone wants it to end. */
  final case class Cancelled(kind: FaultKind, cause: Throwable) extends Fault

  /** Trying again doesn't help. */
  final case class Fatal(kind: FaultKind, cause: Throwable) extends Fault
}

/** One sort of failure.
  *
  * @param errorClass   stable name for monitoring
  * @param advice       what to look at or to do, for the error message; `<action>` in it stands for the name of the call
  * @param showsRequest the service's answer may repeat the signed request, session token and all: only the first line of it
  *                     may be shown, and the exception itself goes into no log
  */
final case class FaultKind(errorClass: String, advice: String, showsRequest: Boolean = false)
