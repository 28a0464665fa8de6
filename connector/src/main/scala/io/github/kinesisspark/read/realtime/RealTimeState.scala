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
  * @param shortage of the batches so far
  */
private[realtime] final case class RealTimeState(phase: RealTimeState.Phase, shortage: CoreShortage) {
  import RealTimeState._

  /** @throws IllegalStateException where no batch runs */
  def batch: Batch = phase match {
    case Running(batch) => batch
    case _              => refuse("no real-time batch was planned")
  }

  /** @throws IllegalStateException where Spark's calls are not in order */
  def after(call: Call): RealTimeState = (phase, call) match {
    case (_, Stopped)                         => copy(phase = Ended)
    case (Idle | Running(_), Begins(batch))   => copy(phase = Running(batch))
    case (Running(_), Ends(isShort, elapsed)) => RealTimeState(Idle, shortage.and(isShort, elapsed))
    case _ => refuse(s"Spark's calls are not in order: ${call.productPrefix} while ${phase.productPrefix}")
  }

  private def refuse(why: String) = throw new IllegalStateException(why)
}

private[realtime] object RealTimeState {
  val begin: RealTimeState = RealTimeState(Idle, CoreShortage.none)

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
    * @param isShortOfCores some began when it was over
    */
  final case class Ends(isShortOfCores: Boolean, elapsedNanos: Long) extends Call
  case object Stopped                                                extends Call
}
