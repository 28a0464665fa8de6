package io.github.kinesisspark.read.realtime

import java.util.concurrent.atomic.AtomicBoolean

import scala.annotation.tailrec
import scala.collection.mutable
import scala.concurrent.duration._

import org.apache.spark.sql.catalyst.InternalRow
import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.FailureReason
import io.github.kinesisspark.position.{Shard, ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.ChildHandover
import io.github.kinesisspark.read.reader.{Overdraft, UserRecordCount}
import io.github.kinesisspark.runtime.{Closing, Runtime, WaitingQueue}

/** The rows of all shards of one task of a real-time batch, from whichever has some; the task waits for any of them at once.
  *
  * Readers put their shard in line when they have news, from any thread. The task takes a shard from the line, gives a limited
  * number of its rows, and puts it behind the others where it has more.
  *
  * If no shard has had news for half a second, one that waits for memory gets it beyond the budget ([[Overdraft]]).
  *
  * | a shard has no more rows, and its reader | what follows |
  * |---|---|
  * | continues | it comes into line again with its next news |
  * | is at the shard's end | the children begin that can: see [[ChildHandover]] |
  * | has failed so that only planning can mend it | it is left to the next batch |
  * | has failed with an Error, and this is not the task's first attempt | the same; the next planning has another executor read the shard |
  * | has failed otherwise | so does the task |
  *
  * @param succession what is known of the shards' children as the batch begins
  * @param failsByErrors an Error in a reader fails the task, for Spark to run it again; otherwise the shard waits for the next batch
  */
private[realtime] final class TaskFeed(
    shards: Vector[(ShardKey, ShardPosition)],
    private var succession: ChildHandover,
    failsByErrors: Boolean,
    follow: TaskFeed.Follow
)(implicit runtime: Runtime)
    extends AutoCloseable {
  import TaskFeed._

  private val line         = new WaitingQueue[InLine]
  private val all          = mutable.LinkedHashMap.empty[ShardKey, InLine]
  private var current      = Option.empty[InLine]
  private var takenInTurn  = 0
  private var last: InLine = _
  private val overdraft    = new Overdraft

  Closing.unlessMade(close()) {
    shards.foreach { case (shard, from) => begin(shard, from, child = None) }
  }

  /** The next row, as soon as any shard has one.
    *
    * @param wait for that, at most; if nothing came, what comes next is left to the next batch
    * @throws KinesisException where a reader has failed for good
    */
  def next(wait: FiniteDuration): Option[InternalRow] = next(runtime.clock.nanos() + wait.toNanos)

  @tailrec private def next(deadline: Long): Option[InternalRow] = current match {
    case Some(one) if takenInTurn < RowsInTurn =>
      takenInTurn += 1
      val row = one.shard.next()
      if (row.isEmpty) {
        current = None
        settle(one)
        next(deadline)
      } else row
    case Some(one) =>
      current = None
      one.queue()
      next(deadline)
    case None =>
      val left = (deadline - runtime.clock.nanos()).max(0L)
      line.poll(left.min(Quiet).nanos) match {
        case None if left <= Quiet => None
        case None                  =>
          overdraft.next(all.valuesIterator.map(_.shard.memory).toVector)
          next(deadline)
        case Some(first) =>
          first.leave()
          takenInTurn = 0
          current = Some(first)
          last = first
          next(deadline)
      }
  }

  /** When the record of the last row arrived, in ms by the service's clock. */
  def arrivalMillis: Long = last.shard.arrivalMillis

  /** What became of each shard, those that were begun here after their parents. */
  def reads: Vector[ShardRead] =
    all.valuesIterator.map(one => ShardRead(one.shard.taken, one.shard.status, one.child.isDefined)).toVector

  /** By all shards. */
  def delivered: UserRecordCount =
    all.valuesIterator.map(_.shard.delivered).foldLeft(UserRecordCount.none)(_ and _)

  override def close(): Unit = all.values.foreach(_.shard.close())

  private def begin(shard: ShardKey, from: ShardPosition, child: Option[Shard]): Unit = {
    val one = new InLine(shard, from, child)
    all(shard) = one
    // It may hold records from before.
    one.queue()
  }

  private def settle(one: InLine): Unit = {
    val status = one.shard.status
    status.failure.foreach { failure =>
      if (!isLeftToPlanning(failure.reason)) throw failure.exception
      runtime.lines.warn(log, s"${failure.errorClass} ${status.shard.stream}", status.shard)(
        s"${status.shard} is left to the next batch: ${failure.message}"
      )
    }
    if (one.shard.position == ShardPosition.ShardEnd && !succession.ended(status.shard)) {
      val (next, children) = succession.end(status.shard, status.children)
      succession = next
      children.foreach { case (key, child) => begin(key, ShardPosition.TrimHorizon, Some(child)) }
    }
  }

  private def isLeftToPlanning(reason: FailureReason) =
    LeftToPlanning(reason) || (!failsByErrors && reason == FailureReason.BrokenJvm)

  /** A shard and whether it is in line. */
  private final class InLine(key: ShardKey, from: ShardPosition, val child: Option[Shard]) {
    private val isInLine = new AtomicBoolean

    val shard: FollowedShard = follow(key, from, child, () => queue())

    def queue(): Unit = if (isInLine.compareAndSet(false, true)) line.put(this)

    /** Before it is looked at: later news brings it into line again. */
    def leave(): Unit = isInLine.set(false)
  }
}

private[realtime] object TaskFeed {
  private val log = LoggerFactory.getLogger(classOf[TaskFeed])

  /** Rows of one shard before another has its turn. */
  private val RowsInTurn = 500

  /** If no shard has had news for so long, in ns, they may be waiting for memory. */
  private val Quiet = 500.millis.toNanos

  /** The shard may be past retention, its consumer another one now, or another query's: the driver finds out when it plans. */
  private val LeftToPlanning = Set[FailureReason](FailureReason.NotFound, FailureReason.ConsumerTaken)

  /** Opens a shard at a position. Given, too, what is known of a child that begins after its parents, and what to call with news of the
    * shard, from any thread, also before this returns.
    */
  type Follow = (ShardKey, ShardPosition, Option[Shard], () => Unit) => FollowedShard
}
