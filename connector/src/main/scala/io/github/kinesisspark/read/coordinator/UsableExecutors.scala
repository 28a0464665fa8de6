package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.FailureReason
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.{ExecutorId, ReaderStatus}
import io.github.kinesisspark.runtime.Runtime

/** Decides which executors may read now. Leaves out an executor that rests after a failure, unless no other is left. Real-time batches use no more executors
  * than they can run tasks.
  *
  * Used by the query's own thread only.
  */
private[coordinator] final class UsableExecutors(
    channel: ExecutorChannel,
    sourceId: String,
    directory: ReaderDirectory
)(implicit
    runtime: Runtime
) {
  private val log     = LoggerFactory.getLogger(classOf[UsableExecutors])
  private var failing = FailingExecutors.none

  /** Cores that tasks of a real-time batch leave to others. */
  private var reserved = 0

  /** As [[FailingExecutors.doubted]] at the last look: the batch's own orders follow it, and are not carried out yet. */
  def failed: Set[ExecutorId] = doubted

  private var doubted = Set.empty[ExecutorId]

  /** When executors were first found to be cut off, of those that were at the last look, too. */
  private var suspected = Map.empty[ExecutorId, Long]

  def reserve(cores: Int): Unit = {
    reserved = cores
    channel.keepFree(cores > 0)
  }

  /** As many tasks of a real-time batch as can run at once. */
  def realTimeTasks: Int = channel.cores - reserved

  /** Throws the latest failure where no other executor is left. */
  def now(): ExecutorsNow = {
    val all = channel.executors()
    channel.shared.takeFailures().foreach { case (id, failure) =>
      all.present.find(_.id == id).foreach(recordFailure(_, failure))
    }
    failing = failing.answered(directory.isDone).keepOnly(all.present)
    val now = runtime.clock.nanos()
    doubted = failing.doubted(directory.isDone, now)
    fewer(failing.spared(all, now).fold(throw _, identity))
  }

  /** No more executors than tasks of a real-time batch can run: each with shards has one. */
  private def fewer(executors: ExecutorsNow): ExecutorsNow =
    if (reserved == 0) executors
    else executors.copy(usable = executors.usable.toVector.sortBy(_.id).take(realTimeTasks.max(1)).toSet)

  /** Others read next what executors read that Kinesis doesn't answer, while it answers others. After the driver itself has stood still, reports of answers
    * are still on their way: so it looks twice.
    */
  def restCutOff(statuses: Map[ShardKey, ReaderStatus]): Unit = {
    val now    = runtime.clock.nanos()
    val silent = CutOffExecutors.among(statuses.values, directory.assignments.of)
    suspected = silent.iterator.map(id => id -> suspected.getOrElse(id, now)).toMap
    suspected.foreach { case (id, since) =>
      if (now - since > UsableExecutors.ReportsTake.toNanos) recordFailure(id, OrderFailure.CutOff)
    }
  }

  def mayBeOrdered(executor: ExecutorId): Boolean = failing.mayBeOrdered(executor, runtime.clock.nanos())

  /** Leaves out readers that failed by an Error in their executor: others read their shards next. Throws the Error where there are no others. */
  def excludeBroken(statuses: Map[ShardKey, ReaderStatus]): Map[ShardKey, ReaderStatus] = {
    val broken = for {
      (shard, status) <- statuses
      failure         <- status.failure if failure.reason == FailureReason.BrokenJvm
      executor        <- directory.assignments.of(shard)
    } yield shard -> (executor -> failure.exception)
    if (broken.isEmpty) statuses
    else {
      broken.values.toMap.foreach { case (executor, cause) => recordFailure(executor, OrderFailure.Thrown(cause)) }
      now(): Unit
      statuses -- broken.keys
    }
  }

  private def recordFailure(executor: ExecutorId, failure: OrderFailure): Unit = {
    val before = failing
    failing = failing.failed(executor, failure, runtime.clock.nanos())
    val now = failing.failures(executor)
    if (!before.failures.get(executor).exists(_.times == now.times))
      log.warn(
        s"${failure.what}; others read its shards, if there are any. executor=${executor.id} host=${executor.host} " +
          s"source=$sourceId rest=${now.rest.toSeconds}s",
        failure.thrown.orNull
      )
  }
}

private object UsableExecutors {

  /** Until all that readers have been answered is reported. */
  private val ReportsTake = 2.seconds
}
