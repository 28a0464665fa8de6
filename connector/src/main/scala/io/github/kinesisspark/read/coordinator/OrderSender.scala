package io.github.kinesisspark.read.coordinator

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.FailureReason
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.{BoundarySpacing, ExecutorId, PlanningState, ReaderStatus, ShardMaps}
import io.github.kinesisspark.read.reader.{ReadOrder, ReaderConfig, ReadersNow, ResolvedPublisher}
import io.github.kinesisspark.runtime.Runtime

/** Which executor reads what: sends each executor the shards to start, stop or reposition, and knows what readers have reported since.
  *
  * Used by the query's own thread only.
  *
  * @param publisher how the readers get their records now
  * @param spacing   how far boundaries lie apart, by the number of shards
  */
private[coordinator] final class OrderSender(
    channel: ExecutorChannel,
    config: ReaderConfig,
    publisher: () => ResolvedPublisher,
    spacing: Int => BoundarySpacing
)(implicit runtime: Runtime)
    extends AutoCloseable {
  private val log     = LoggerFactory.getLogger(classOf[OrderSender])
  private var orders  = Map.empty[ExecutorId, ReaderOrders]
  private var failing = FailingExecutors.none

  @volatile private var hasRead = false

  /** The highest number of all orders: an executor that is lost and found again has carried out lower ones. */
  private var lastNumber = 0L

  /** Cores that tasks of a real-time batch leave to others. */
  private var reserved = 0

  val assignments = new ShardAssignments(channel.idleTimeout, config.bufferBytes)

  def reserve(cores: Int): Unit = reserved = cores

  /** As many tasks of a real-time batch as can run at once. */
  def realTimeTasks: Int = channel.cores - reserved

  /** Sends orders of what has changed since the last ones.
    *
    * @param reading from where the next batch starts
    * @param stops   where to stop reading, in shards that are not to be read without end
    */
  def send(
      planning: PlanningState,
      reading: Map[ShardKey, ShardPosition],
      stops: Map[ShardKey, ShardPosition]
  ): Unit = {
    takeBack()
    val executors = present()
    assignments.settle(planning, reading.keys, executors, channel.coresOfAnExecutor, runtime.clock.nanos())
    val undone = channel.reports.takeUndone()
    channel.reports.keepOnly(executors.present.map(_.id))
    val holding = assignments.holding
    orders = ReaderOrders.undone(orders.filter { case (executor, _) => holding(executor) }, undone)
    val wanted = reading.iterator.map { case (shard, position) =>
      ReadOrder.Task(shard, position, stops.get(shard), planning.ending(shard))
    }
    val byHome = wanted.toVector.groupBy(task => assignments.of(task.shard))
    sendAll(for {
      executor <- holding.toVector.sortBy(_.id)
      known = orders.getOrElse(executor, ReaderOrders.after(lastNumber))
      // An executor that doesn't answer is sent the release of its shards, and carries it out once it answers again.
      if failing.mayBeOrdered(executor, runtime.clock.nanos()) &&
        (executors.answering(executor) || (!known.isUndone && known.lastOfAllShards > 0))
      next <- known.next(byHome.getOrElse(Some(executor), Vector.empty), publisher())
    } yield executor -> next)
    // One that doesn't answer has its shards still, and may have reported the order that named them.
    assignments.acknowledged(orders.iterator.collect {
      case (executor, known) if known.shards.isEmpty && hasReported(executor, known) => executor
    }.toVector)
    hasRead ||= reported.exists(_.totals.reads.reads > 0)
  }

  /** Announces to readers where the batch ends: what they report from now on comes after it, and has time until the next order. */
  def announce(ends: Vector[(ShardKey, ShardPosition)]): Unit = {
    takeBack()
    val byHome = ends.groupBy { case (shard, _) => assignments.of(shard) }
    sendAll(for {
      (home, own) <- byHome.toVector
      executor    <- home
      known       <- orders.get(executor)
      next        <- known.plan(own)
    } yield executor -> next)
  }

  /** Until the next orders are sent, another thread sends the orders of missing readers again, from the values it gets here. */
  def leave(): Unit = {
    val shards  = assignments.shards.size
    val reading = orders.keySet.filter(assignments.isReading)
    channel.reports.leave(OrdersMeanwhile(orders, reading, lastNumber, publisher(), failing.failures.keySet)) { sent =>
      sent.foreach { case (executor, (now, change)) =>
        log.info(
          s"sent an order between two plannings, as readers are missing or an executor is lost: executor=${executor.id} " +
            s"source=${config.sourceId} read=${change.read.size} release=${change.release.size} order=${now.number}"
        )
      }
      deliver(sent, shards)
    }
  }

  private def takeBack(): Unit = channel.reports.takeBack().foreach { now =>
    orders = now.orders
    lastNumber = now.lastNumber
    if (now.moved.nonEmpty) assignments.adopt(now.moved, orders.keySet)
  }

  /** Tasks of a real-time batch have begun to read these. */
  def adopt(begun: Map[ShardKey, ExecutorId]): Unit = {
    assignments.adopt(begun)
    for ((executor, some) <- begun.groupBy(_._2); known <- orders.get(executor))
      orders += executor -> known.begun(some.keys)
  }

  /** Sends all orders again, with the next ones, to executors that have carried out theirs and have not reported in time. */
  def repeatUnacknowledged(): Unit = orders = orders.transform { (executor, known) =>
    if (hasReported(executor, known) || !isDone(executor, known)) known else known.undone(known.number)
  }

  /** The reports of readers that stand at the batch's start. Readers that failed by an Error in their executor are left out: others read their shards next.
    * Throws the Error where there are no others. Readers of a consumer that is gone are left out as well: their executor may not have been ordered since.
    */
  def statuses(reading: Map[ShardKey, ShardPosition]): Map[ShardKey, ReaderStatus] = {
    val now     = runtime.clock.nanos()
    val known   = channel.reports.now
    lazy val by = publisher()
    val byHome  = for {
      (executor, own) <- orders if own.publisher.contains(by)
      reported        <- known.get(executor.id) if reported.applied >= own.awaited
    } yield executor -> (reported.statuses -> own.committed)
    withoutBroken(ShardMaps.collect(reading) { (shard, start) =>
      for {
        executor              <- assignments.of(shard)
        (statuses, committed) <- byHome.get(executor)
        reported              <- statuses.get(shard) if reported.status.base == start
      } yield reported.now(now, committed)
    })
  }

  private def withoutBroken(statuses: Map[ShardKey, ReaderStatus]): Map[ShardKey, ReaderStatus] = {
    val broken = for {
      (shard, status) <- statuses
      failure         <- status.failure if failure.reason == FailureReason.BrokenJvm
      executor        <- assignments.of(shard)
    } yield shard -> (executor -> failure.exception)
    if (broken.isEmpty) statuses
    else {
      broken.values.toMap.foreach { case (executor, cause) => recordFailure(executor, OrderFailure.Thrown(cause)) }
      present(): Unit
      statuses -- broken.keys
    }
  }

  /** Where shards are read, and what has been counted there. */
  def now: ReadersNow = {
    val known = channel.reports.now
    val own   = assignments.holding.toVector.flatMap(executor => known.get(executor.id).map(executor -> _))
    ReadersNow(
      own.map { case (executor, reported) => executor -> reported.totals },
      assignments.all,
      own.map { case (_, reported) => reported.counts }
    )
  }

  override def close(): Unit = {
    takeBack()
    channel.release(assignments.holding)
  }

  private def reported = assignments.holding.toVector.flatMap(executor => channel.reports.now.get(executor.id))

  private def hasReported(executor: ExecutorId, known: ReaderOrders) =
    channel.reports.now.get(executor.id).exists(_.applied >= known.awaited)

  private def isDone(executor: ExecutorId, known: ReaderOrders) = channel.reports.isDone(executor.id, known.number)

  /** The executors now, without those that fail while others are left to read. */
  private def present(): ExecutorsNow = {
    val now = channel.executors()
    channel.reports.takeFailures().foreach { case (id, failure) =>
      now.present.find(_.id == id).foreach(recordFailure(_, failure))
    }
    failing = failing.answered(executor => orders.get(executor).exists(known => isDone(executor, known)))
    failing = failing.keepOnly(now.present)
    fewer(failing.spared(now, runtime.clock.nanos()).fold(throw _, identity))
  }

  /** No more executors than tasks of a real-time batch can run: each with shards has one. */
  private def fewer(executors: ExecutorsNow): ExecutorsNow =
    if (reserved == 0) executors
    else executors.copy(usable = executors.usable.toVector.sortBy(_.id).take(realTimeTasks.max(1)).toSet)

  private def recordFailure(executor: ExecutorId, failure: OrderFailure): Unit = {
    val before = failing
    failing = failing.failed(executor, failure, runtime.clock.nanos())
    val now = failing.failures(executor)
    if (!before.failures.get(executor).exists(_.times == now.times))
      log.warn(
        s"${failure.what}; others read its shards, if there are any. executor=${executor.id} host=${executor.host} " +
          s"source=${config.sourceId} rest=${now.rest.toSeconds}s",
        failure.thrown.orNull
      )
  }

  private def sendAll(changes: Vector[OrdersMeanwhile.Sent]): Unit = {
    orders ++= changes.map { case (executor, (now, _)) => executor -> now }
    // Before the orders are sent: an executor that lost its shards must no longer be named when another begins to read them.
    channel.reports.assign(orders.collect {
      case (executor, known) if assignments.isReading(executor) => executor.id -> known.epoch
    })
    lastNumber = changes.iterator.map { case (_, (now, _)) => now.number }.foldLeft(lastNumber)(_ max _)
    if (changes.nonEmpty) deliver(changes, assignments.shards.size)
  }

  private def deliver(changes: Vector[OrdersMeanwhile.Sent], shards: Int): Unit =
    channel.sendOrders(changes.map { case (executor, (now, change)) => executor -> order(now, change, shards) })

  private def order(now: ReaderOrders, change: ReaderOrders.Changes, shards: Int) = ReadOrder(
    config.sourceId,
    now.number,
    now.publisher.filter(_ => change.isOfAllShards).map(ReadOrder.ReadSettings(config, _)),
    change.commit,
    change.read,
    change.release,
    change.planned,
    runtime.clock.nanos(),
    channel.liveness,
    spacing(shards),
    channel.reportPause.toMillis,
    hasRead
  )
}
