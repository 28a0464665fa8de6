package io.github.kinesisspark.read

import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.shard._

/** The driver's way to its shard readers. */
trait Prober {

  /** The executors alive now. Where there are none (dynamic allocation), waits for the first. */
  def executors(): Set[ExecutorId]

  /** How long an executor may be idle before Spark removes it; nothing where executors stay. */
  def idleTimeout: Option[FiniteDuration]

  /** As many tasks as can run at once on all executors. */
  def cores: Int

  def coresOfAnExecutor: Int

  /** How many tasks of one batch are worth having there. */
  def tasksOfAnExecutor: Int

  /** Whether a probe takes no task slot, so that it may wait. */
  def isFree: Boolean

  def probe(requests: Vector[(ExecutorId, ProbeRequest)]): Vector[(ExecutorId, ProbeAnswer)]

  def cut(requests: Vector[(ExecutorId, CutRequest)]): Vector[(ExecutorId, CutAnswer)]

  def split(requests: Vector[(ExecutorId, SplitRequest)]): Vector[(ExecutorId, SplitAnswer)]

  /** Closes the readers of a source now instead of at the end of their lease; gives up waiting for that after a while. */
  def release(source: String, executors: Iterable[ExecutorId]): Unit
}
