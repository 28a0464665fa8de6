package io.github.kinesisspark.testkit

import scala.concurrent.duration.FiniteDuration

/** What goes wrong. */
sealed trait FaultEffect

/** What goes wrong with a call, of any action. */
sealed trait CallFault extends FaultEffect

/** What goes wrong with an event of a live subscription, when it is about to be sent. */
sealed trait EventFault extends FaultEffect

/** What goes wrong with the last event of a closed shard. */
sealed trait LastEventFault extends EventFault

/** What goes wrong when a client leaves its subscription. */
sealed trait LeavingFault extends FaultEffect

object FaultEffect {

  /** An error of the service, instead of doing anything. */
  final case class ServiceCode(code: String, message: String = "Injected fault", status: Int = 400) extends CallFault

  /** An HTTP status with no body that the service would write, as a load balancer answers. */
  final case class HttpStatus(status: Int) extends CallFault

  /** The call begins later. */
  final case class Delay(by: FiniteDuration) extends CallFault

  /** The connection is reset. */
  final case class Reset(at: ResetPoint) extends CallFault

  /** The call is done, but half of the answer's body is missing. */
  case object TruncatedBody extends CallFault

  /** The call is done, but the answer's body is noise. */
  case object GarbageBody extends CallFault

  /** PutRecords: a share of the entries is refused, of the rule's shard if it names one. */
  final case class RefuseEntries(share: Double, code: String = "ProvisionedThroughputExceededException")
      extends CallFault

  /** GetRecords: no records now, and more to come. */
  final case class EmptyAnswer(millisBehindLatest: Long) extends CallFault

  /** The answer's `Date` is wrong by this much. */
  final case class ClockSkew(by: FiniteDuration) extends CallFault

  /** An error inside the subscription, in place of the event; it ends with it. */
  final case class ErrorEvent(code: String, message: String = "Injected fault") extends EventFault

  /** In place of the event comes one without records that says there is more to come; the event comes next. */
  final case class EmptyEvent(millisBehindLatest: Long) extends EventFault

  /** The event, and all after it, come later, by the service's clock. */
  final case class DelayEvent(by: FiniteDuration) extends EventFault

  /** The subscription's HTTP/2 stream is reset, and its connection lives on. */
  case object ResetStream extends EventFault

  /** The connection is reset, with all subscriptions on it. */
  case object ResetConnection extends EventFault

  /** Not a byte comes any more, and nothing ends: as when the other side has vanished. */
  case object Silence extends EventFault

  /** The subscription completes, and the event never comes. */
  case object AbruptEnd extends EventFault

  /** The event's frame has a wrong checksum. */
  case object CorruptFrame extends EventFault

  /** The event has no continuation, and no children either: this alone is not the end. */
  case object ContinuationMissing extends EventFault

  /** The children are sent with a continuation: they alone are not the end. */
  case object EndWithContinuation extends LastEventFault

  /** In place of the end comes an empty event: the shard's end is never sent, and the subscription stays open. */
  case object EndWithheld extends LastEventFault

  /** The subscription keeps its place for so long after its client left it, by the service's clock. */
  final case class PlaceHeld(by: FiniteDuration) extends LeavingFault
}

/** When a connection is reset. What a client cannot distinguish differs here: after the call was done, a retry of a
  * write stores its records twice.
  */
sealed trait ResetPoint
object ResetPoint {
  case object BeforeCall extends ResetPoint
  case object AfterCall  extends ResetPoint
  case object InsideBody extends ResetPoint
}
