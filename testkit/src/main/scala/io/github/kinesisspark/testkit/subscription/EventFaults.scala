package io.github.kinesisspark.testkit.subscription

import io.github.kinesisspark.testkit.{EventFault, FaultEffect}
import io.github.kinesisspark.testkit.model.ServiceError

/** What the fault plan makes of an event. */
private[testkit] object EventFaults {

  /** What becomes of an event with the faults that strike it.
    *
    * @param continuation where to continue after the event, also if it is the last one
    */
  def play(event: SubscriptionEvent, continuation: String, faults: Vector[EventFault]): Turn = {
    val said = faults.foldLeft(event) {
      case (e, FaultEffect.ContinuationMissing) => e.copy(continuation = None, children = None)
      case (e, FaultEffect.EndWithContinuation) => e.copy(continuation = Some(continuation))
      case (e, FaultEffect.EndWithheld)         => e.copy(continuation = Some(continuation), children = None)
      case (e, _)                               => e
    }
    faults
      .collectFirst {
        case FaultEffect.ResetConnection           => Turn.ResetConnection
        case FaultEffect.ResetStream               => Turn.ResetStream
        case FaultEffect.Silence                   => Turn.Silence
        case FaultEffect.AbruptEnd                 => Turn.Complete
        case FaultEffect.ErrorEvent(code, message) => Turn.Fail(ServiceError(code, message))
        case FaultEffect.CorruptFrame              => Turn.Garble(said)
      }
      .getOrElse(Turn.Say(said))
  }

  /** How far an event that comes empty in its place says to be behind, in ms. */
  def emptyFor(faults: Vector[EventFault]): Option[Long] =
    faults.collectFirst { case FaultEffect.EmptyEvent(behind) => behind }

  /** How much later it comes. */
  def delayMillis(faults: Vector[EventFault]): Long =
    faults.collect { case FaultEffect.DelayEvent(by) => by.toMillis }.sum
}
