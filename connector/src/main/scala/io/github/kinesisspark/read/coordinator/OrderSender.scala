package io.github.kinesisspark.read.coordinator

import org.slf4j.LoggerFactory

import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.{BoundarySpacing, ExecutorId, PlanningState}
import io.github.kinesisspark.read.reader.{ReadOrder, ReaderConfig, ResolvedPublisher}
import io.github.kinesisspark.runtime.Runtime

/** Sends each executor the shards to start, stop or reposition: what has changed since its last order, or all where it may not have carried that out.
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
    spacing: Int => BoundarySpacing,
    directory: ReaderDirectory,
    executors: UsableExecutors
)(implicit runtime: Runtime)
    extends AutoCloseable {
  private val log = LoggerFactory.getLogger(classOf[OrderSender])

  /** As of the last planning. */
  @volatile private var hadRead = false

  /** The highest number of all orders: an executor that is lost and found again has carried out lower ones. */
  private var lastNumber = 0L

  private def assignments = directory.assignments

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
    val now = executors.now()
    directory.settle(planning, reading.keys, now)
    val wanted = reading.iterator.map { case (shard, position) =>
      ReadOrder.ShardToRead(shard, position, stops.get(shard), planning.ending(shard))
    }
    val byHome = wanted.toVector.groupBy(one => assignments.of(one.shard))
    sendAll(for {
      executor <- assignments.holding.toVector.sortBy(_.id)
      known = directory.orders.getOrElse(executor, ReaderOrders.after(lastNumber))
      // An executor that doesn't answer is sent the release of its shards, and carries it out once it answers again.
      if executors.mayBeOrdered(executor) &&
        (now.answering(executor) || (!known.isUndone && known.lastOfAllShards > 0))
      next <- known.next(byHome.getOrElse(Some(executor), Vector.empty), publisher())
    } yield executor -> next)
    directory.acknowledge()
    hadRead = hasRead
  }

  /** Whether a reader of this query has ever read anything. */
  def hasRead: Boolean = hadRead || directory.hasRead

  /** Announces to readers where the batch ends: what they report from now on comes after it, and has time until the next order. */
  def announce(ends: Vector[(ShardKey, ShardPosition)]): Unit = {
    takeBack()
    val byHome = ends.groupBy { case (shard, _) => assignments.of(shard) }
    sendAll(for {
      (home, own) <- byHome.toVector
      executor    <- home
      known       <- directory.orders.get(executor)
      next        <- known.beginBatch(own)
    } yield executor -> next)
  }

  /** Tasks of a real-time batch have begun to read shards. */
  def adopt(begun: Map[ShardKey, ExecutorId]): Unit = {
    takeBack()
    directory.adopt(begun)
  }

  /** Until the next orders are sent, another thread sends the orders of missing readers again, from the values it gets here.
    *
    * @param isFollowed tasks of a real-time batch follow the readers
    */
  def handOver(isFollowed: Boolean): Unit = {
    val shards  = assignments.shards.size
    val reading = directory.ofReading.keySet
    val orders  = OrdersMeanwhile(directory.orders, reading, lastNumber, publisher(), executors.failed, isFollowed)
    channel.shared.handOver(orders) { sent =>
      sent.foreach { case (executor, (now, change)) =>
        log.info(
          s"sent an order between two plannings, as readers are missing or an executor is lost: executor=${executor.id} " +
            s"source=${config.sourceId} read=${change.read.size} release=${change.release.size} order=${now.number}"
        )
      }
      deliver(sent, shards)
    }
  }

  private def takeBack(): Unit = channel.shared.takeBack().foreach { meanwhile =>
    directory.takeOver(meanwhile)
    lastNumber = meanwhile.lastNumber
  }

  override def close(): Unit = {
    takeBack()
    channel.release(assignments.holding)
  }

  private def sendAll(changes: Vector[OrdersMeanwhile.Sent]): Unit = {
    directory.record(changes)
    // Before the orders are sent: an executor that lost its shards must no longer be named when another begins to read them.
    channel.shared.assign(directory.ofReading.map { case (executor, known) => executor.id -> known.epoch })
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
    change.batchEnds,
    runtime.clock.nanos(),
    channel.liveness,
    spacing(shards),
    channel.reportPause.toMillis,
    hadRead
  )
}
