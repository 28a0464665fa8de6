package io.github.kinesisspark.read.realtime

import io.github.kinesisspark.read.plan.PlanningState

/** All that [[RealTimeMode]] remembers from one of Spark's calls to the next, and which calls are legal when. Pure.
  *
  * {{{
  * phase    Begins(batch)   Ends     Stopped
  * Idle     Running(batch)  refused  Ended
  * Running  Running(batch)  Idle     Ended
  * Ended    refused         refused  Ended
  * }}}
  *
  * Spark may ask for a batch's tasks more than once. It refuses a query that reads one source twice, so a batch ends once.
  *
  * @param starvation of the batches so far
  */
private[realtime] final case class RealTimeState(phase: RealTimeState.Phase, starvation: Starvation) {
  import RealTimeState._

  /** @throws IllegalStateException where no batch runs */
  def batch: Batch = phase match {
    case Running(batch) => batch
    case _              => refuse("no real-time batch was planned")
  }

  /** @throws IllegalStateException where Spark's calls are not in order */
  def after(call: Call): RealTimeState = (phase, call) match {
    case (_, Stopped)                           => copy(phase = Ended)
    case (Idle | Running(_), Begins(batch))     => copy(phase = Running(batch))
    case (Running(_), Ends(isStarved, elapsed)) => RealTimeState(Idle, starvation.and(isStarved, elapsed))
    case _ => refuse(s"Spark's calls are not in order: ${call.productPrefix} while ${phase.productPrefix}")
  }

  private def refuse(why: String) = throw new IllegalStateException(why)
}

private[realtime] object RealTimeState {
  val begin: RealTimeState = RealTimeState(Idle, Starvation.none)

  /** @param nanos when it was planned, by the driver's clock */
  final case class Batch(planning: PlanningState, nanos: Long)

  sealed trait Phase                     extends Product
  case object Idle                       extends Phase
  final case class Running(batch: Batch) extends Phase
  case object Ended                      extends Phase

  sealed trait Call extends Product

  /** The tasks of a batch are asked for. */
  final case class Begins(batch: Batch) extends Call

  /** Its tasks have reported where they are.
    *
    * @param isStarved some began when it was over
    */
  final case class Ends(isStarved: Boolean, elapsedNanos: Long) extends Call
  case object Stopped                                           extends Call
}
