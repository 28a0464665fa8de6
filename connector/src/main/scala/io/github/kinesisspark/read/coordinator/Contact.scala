package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.apache.spark.kinesisspark.RpcChannel

import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.Liveness

/** An executor's end of the channel.
  *
  * @param answeredNanos when it gave its last answer to a heartbeat, by its own clock
  */
private[coordinator] final case class Contact(peer: RpcChannel.Peer, pulse: Pulse, answeredNanos: Option[Long])

/** Whether an executor answers heartbeats. Missed ones are counted instead of time, so that a driver that stood still doesn't blame the
  * executors. Pure.
  *
  * @param isAsked  a heartbeat is on its way: there is one at a time
  * @param missed   in a row
  * @param answered since its end was opened
  */
private[coordinator] final case class Pulse(isAsked: Boolean, missed: Int, answered: Long) {
  def answers: Boolean = missed < Liveness.SilentBeats

  /** Silent for so long that a planning, if there was one, has moved its shards. */
  def isLost: Boolean = missed >= Liveness.SilentBeats + Liveness.BeatsOfPlanning

  /** Whether it has been there all the time since then. A driver that stood still has got no answers either. */
  def hasAnsweredSince(before: Pulse): Boolean = answers && answered - before.answered >= Liveness.SilentBeats

  /** None is on its way; or the one that is has no end long after its time, as an Error has kept its answer from being heard. */
  def isDue: Boolean = !isAsked || (missed > 0 && missed % Pulse.LateBeats == 0)

  /** Once a second: one more is sent, or the one on its way is late. */
  def beat: Pulse = if (isAsked) copy(missed = missed + 1) else copy(isAsked = true)

  def ended(isAnswered: Boolean): Pulse =
    if (isAnswered) Pulse(isAsked = false, missed = 0, answered + 1) else copy(isAsked = false, missed = missed + 1)
}

private[coordinator] object Pulse {
  val first: Pulse = Pulse(isAsked = false, missed = 0, answered = 0)

  private val LateBeats = 3 * (Liveness.BeatTimeout / Liveness.Beat).toInt
}

/** When the next job is due that opens executors' ends, for the executors that have none. Pure.
  *
  * @param tried     the present executors that a job was run for
  * @param jobs      since there last was a new executor
  * @param isRunning one at a time
  * @param began     the last job, by the driver's clock
  * @param ended     the last job that has, by the driver's clock
  * @param failed    jobs in a row
  */
private[coordinator] final case class Placement(
    tried: Set[ExecutorId],
    jobs: Int,
    isRunning: Boolean,
    began: Long,
    ended: Option[Long],
    failed: Int
) {
  import Placement._

  /** At once for an executor that is new; for others, whose tasks ran elsewhere, less often each time. */
  def isDue(missing: Set[ExecutorId], nowNanos: Long): Boolean =
    !isRunning && missing.nonEmpty && (!missing.subsetOf(tried) || ended.forall(nowNanos - _ > pause.toNanos))

  def start(missing: Set[ExecutorId], nowNanos: Long): Placement = copy(
    tried ++ missing,
    jobs = if (missing.subsetOf(tried)) jobs + 1 else 1,
    isRunning = true,
    began = nowNanos
  )

  /** Forgets the executors that are gone. */
  def keepOnly(present: Set[String]): Placement = copy(tried = tried.filter(executor => present(executor.id)))

  def end(isFailed: Boolean, nowNanos: Long): Placement =
    copy(isRunning = false, ended = Some(nowNanos), failed = if (isFailed) failed + 1 else 0)

  /** Once may be an executor's loss. */
  def isHopeless: Boolean = failed >= 3

  /** Whether a planning waits for its end: without any executor, at first a little for all of them, and where no other job may run.
    *
    * @param connected how many of all executors have their ends
    */
  def isAwaited(connected: Int, all: Int, isExclusive: Boolean, nowNanos: Long): Boolean = {
    def isWithin(patience: FiniteDuration) = nowNanos - began < patience.toNanos
    val isFirst                            = connected < all && ended.isEmpty
    isRunning && (connected == 0 || (isFirst && isWithin(MorePatience)) || (isExclusive && isWithin(ExclusivePatience)))
  }

  private def pause = (ShortestPause * (1L << jobs.min(6))).min(LongestPause)
}

private[coordinator] object Placement {
  val none: Placement = Placement(Set.empty, jobs = 0, isRunning = false, began = 0, ended = None, failed = 0)

  private val ShortestPause = 1.second
  private val LongestPause  = 1.minute

  /** How long a planning waits for more than one executor. */
  private val MorePatience = 2.seconds

  /** How long a planning waits for a job that may keep Spark from admitting the batch. */
  private val ExclusivePatience = 10.seconds
}
