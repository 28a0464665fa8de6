package io.github.kinesisspark.read.coordinator

import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.{ExecutorId, PlanningState, ReaderStatus, ShardMaps}
import io.github.kinesisspark.read.reader.{ReaderConfig, ReadersNow, ResolvedPublisher}
import io.github.kinesisspark.runtime.Runtime

/** Who reads what, and how far, as the driver knows it: from the assignments, from what executors were ordered, and from what readers have reported.
  *
  * Used by the query's own thread only.
  *
  * @param publisher how the readers get their records now
  */
private[coordinator] final class ReaderDirectory(
    channel: ExecutorChannel,
    config: ReaderConfig,
    publisher: () => ResolvedPublisher
)(implicit runtime: Runtime) {
  private var ordered = Map.empty[ExecutorId, ReaderOrders]

  val assignments = new ShardAssignments(channel.idleTimeout, config.bufferBytes)

  /** What executors have been ordered. */
  def orders: Map[ExecutorId, ReaderOrders] = ordered

  /** The orders of executors that have shards. */
  def ofReading: Map[ExecutorId, ReaderOrders] = ordered.filter { case (executor, _) =>
    assignments.isReading(executor)
  }

  /** Assigns the shards of the next batch. Executors that have no part in it any more are forgotten. */
  def settle(planning: PlanningState, shards: Iterable[ShardKey], executors: ExecutorsNow): Unit = {
    assignments.settle(planning, shards, executors, channel.coresOfAnExecutor, runtime.clock.nanos())
    val undone = channel.shared.takeUndone()
    channel.reports.keepOnly(executors.present.map(_.id), planning.reading.contains)
    val holding = assignments.holding
    ordered = ReaderOrders.undone(ordered.filter { case (executor, _) => holding(executor) }, undone)
  }

  /** These are about to be sent. */
  def record(changes: Vector[OrdersMeanwhile.Sent]): Unit =
    ordered ++= changes.map { case (executor, (now, _)) => executor -> now }

  /** Another thread has sent these since the last planning. */
  def takeOver(meanwhile: OrdersMeanwhile): Unit = {
    ordered = meanwhile.orders
    if (meanwhile.moved.nonEmpty) assignments.adopt(meanwhile.moved, ordered.keySet)
  }

  /** Tasks of a real-time batch have begun to read these. */
  def adopt(begun: Map[ShardKey, ExecutorId]): Unit = {
    assignments.adopt(begun)
    for ((executor, some) <- begun.groupBy(_._2); known <- ordered.get(executor))
      ordered += executor -> known.begun(some.keys)
  }

  /** Executors that read nothing any more, and have reported so, are left alone. */
  def acknowledge(): Unit =
    // One that doesn't answer has its shards still, and may have reported the order that named them.
    assignments.acknowledged(ordered.iterator.collect {
      case (executor, known) if known.shards.isEmpty && hasReported(executor, known) => executor
    }.toVector)

  /** Has all orders sent again, with the next ones, to executors that have carried out theirs and have not reported in time. */
  def repeatUnacknowledged(): Unit = ordered = ordered.transform { (executor, known) =>
    if (hasReported(executor, known) || !isDone(executor)) known else known.undone(known.number)
  }

  /** Whether an executor is known to have carried out all its orders. */
  def isDone(executor: ExecutorId): Boolean =
    ordered.get(executor).exists(known => channel.reports.lastDone(executor.id).exists(_ >= known.number))

  private def hasReported(executor: ExecutorId, known: ReaderOrders) =
    channel.reports.now.get(executor.id).exists(_.applied >= known.awaited)

  /** The reports of readers that stand at the batch's start. Readers of a consumer that is gone are left out: their executor may not have been ordered since.
    */
  def statuses(reading: Map[ShardKey, ShardPosition]): Map[ShardKey, ReaderStatus] = {
    val now     = runtime.clock.nanos()
    val known   = channel.reports.now
    lazy val by = publisher()
    val byHome  = for {
      (executor, own) <- ordered if own.publisher.contains(by)
      reported        <- known.get(executor.id) if reported.applied >= own.awaited
    } yield executor -> (reported.statuses -> own.committed)
    ShardMaps.collect(reading) { (shard, start) =>
      for {
        executor              <- assignments.of(shard)
        (statuses, committed) <- byHome.get(executor)
        reported              <- statuses.get(shard) if reported.status.base == start
      } yield reported.now(now, committed)
    }
  }

  /** Where shards are read, and what has been counted there. */
  def now: ReadersNow = {
    val known   = channel.reports.now
    val holding = assignments.holding.toVector
    val others  = known -- holding.map(_.id)
    ReadersNow(
      for (executor <- holding; reported <- known.get(executor.id)) yield executor -> reported.totals,
      others.valuesIterator.map(_.totals.ended).foldLeft(channel.reports.ofGone)(_ and _),
      assignments.all,
      known.valuesIterator.map(_.counts).toVector
    )
  }

  /** Whether any reader has reported that it has read something. */
  def hasRead: Boolean = now.totals.reads.reads > 0
}
