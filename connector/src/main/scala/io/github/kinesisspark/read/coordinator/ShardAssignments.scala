package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.{ActiveExecutors, ExecutorId, PlacedShard, PlanningState, ShardAssignment}

/** Which executor reads which shard, over time: what is read stays where it is unless executors come or go, or what shards carry
  * has become uneven.
  *
  * An executor that has lost its last shard gets orders until it has reported that it reads none; then it is left alone, and may fall idle.
  *
  * @param idleTimeout after which Spark removes an executor (dynamic allocation): then no more of them read than needed
  * @param bufferBytes of one executor
  */
final class ShardAssignments(idleTimeout: Option[FiniteDuration], bufferBytes: Long) {
  import ShardAssignments._

  private var homes      = Map.empty[ShardKey, ExecutorId]
  private var usable     = Set.empty[ExecutorId]
  private var reading    = Set.empty[ExecutorId]
  private var unreleased = Set.empty[ExecutorId]
  private var bytes      = Map.empty[ShardKey, Long]
  private var weighed    = Option.empty[Long]
  private var levelled   = Option.empty[Long]
  private var active     = ActiveExecutors.none

  def of(shard: ShardKey): Option[ExecutorId] = homes.get(shard)

  def all: Map[ShardKey, ExecutorId] = homes

  def shards: Iterable[ShardKey] = homes.keys

  def isReading(executor: ExecutorId): Boolean = reading(executor)

  /** Executors that read, and those that may still read what they are to release. */
  def holding: Set[ExecutorId] = reading ++ unreleased

  /** Executors that have reported that they read no more. */
  def acknowledged(done: Iterable[ExecutorId]): Unit = unreleased = unreleased -- done ++ reading

  /** Shards that are read there since the last planning.
    *
    * @param ordered executors that were ordered to read meanwhile, and may have lost their shards again
    */
  def adopt(begun: Map[ShardKey, ExecutorId], ordered: Set[ExecutorId] = Set.empty): Unit = {
    place(homes ++ begun)
    unreleased = unreleased ++ ordered
  }

  /** What the last batch took of each shard, in bytes. */
  def weigh(taken: Map[ShardKey, Long], nowNanos: Long): Unit = {
    // One odd batch moves no shard.
    bytes = taken.transform((shard, now) => bytes.get(shard).fold(now)(before => (before + now) / 2))
    weighed = Some(nowNanos)
  }

  /** Before readers get their orders.
    *
    * @param cores of one executor
    */
  def settle(
      planning: PlanningState,
      shards: Iterable[ShardKey],
      executors: ExecutorsNow,
      cores: Int,
      nowNanos: Long
  ): Unit = {
    val isNew = executors.usable != usable || shards.size != homes.size || !shards.forall(homes.contains)
    usable = executors.usable
    unreleased = unreleased.intersect(executors.present)
    val before = active.size
    active = idleTimeout match {
      case Some(timeout) => active.next(needed(shards.size, cores, nowNanos).min(usable.size), nowNanos, timeout)
      case None          => ActiveExecutors(usable.size, None)
    }
    val isDue = levelled.forall(nowNanos - _ > LevelAfter.toNanos)
    if (isNew || active.size != before || isDue) {
      levelled = Some(nowNanos)
      assign(planning, shards, if (isNew || active.size != before) Even else Uneven)
    }
  }

  private def assign(planning: PlanningState, shards: Iterable[ShardKey], tolerance: Double): Unit = {
    val total                 = shards.iterator.flatMap(bytes.get).sum.max(1L).toDouble
    val each                  = 1.0 / shards.size.max(1)
    def home(shard: ShardKey) = homes.get(shard).orElse(planning.parents(shard).flatMap(homes.get).headOption)
    // Half by number, as an idle shard has its calls as well, and half by bytes.
    def load(shard: ShardKey)   = each + bytes.getOrElse(shard, 0L) / total
    def placed(shard: ShardKey) = PlacedShard(shard, planning.hashStart(shard), load(shard), home(shard))
    place(ShardAssignment.assign(shards.iterator.map(placed).toVector, chosen, tolerance))
  }

  private def place(now: Map[ShardKey, ExecutorId]): Unit = {
    homes = now
    reading = homes.values.toSet
    unreleased = unreleased ++ reading
  }

  /** As many executors as are to read: those that read most already. */
  private def chosen: Vector[ExecutorId] = {
    val sizes = homes.values.groupMapReduce(identity)(_ => 1)(_ + _)
    usable.toVector.sortBy(e => (-sizes.getOrElse(e, 0), e.id)).take(active.size)
  }

  private def needed(shards: Int, cores: Int, now: Long) = {
    val isFlowing = weighed.exists(now - _ < QuietAfter.toNanos)
    ActiveExecutors.needed(shards, if (isFlowing) bytes.valuesIterator.sum else 0, cores, bufferBytes)
  }
}

object ShardAssignments {

  /** How far loads may lie from their mean after executors or shards have changed, and before shards move only for that. */
  private val Even   = 0.2
  private val Uneven = 0.5

  private val LevelAfter = 1.minute

  /** After this the last batch's bytes say nothing about the load. */
  private val QuietAfter = 10.seconds
}
