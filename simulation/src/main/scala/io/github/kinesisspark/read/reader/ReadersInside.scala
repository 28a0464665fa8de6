package io.github.kinesisspark.read.reader

import scala.collection.mutable

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.ReaderStatus

/** An executor's readers, as a simulation sees them. */
final class ReadersInside(pools: ShardReaderPools) {
  import ReadersInside._

  def all: Vector[ObservedReader] = pools.all.flatMap(pool => pool.all.map(observed(pool, _)))

  /** Those of all sources. */
  def of(shard: ShardKey): Vector[ObservedReader] = all.filter(_.shard == shard)

  def isEmpty: Boolean = pools.all.isEmpty

  def memory: Long   = pools.memory.used
  def capacity: Long = pools.memory.capacity

  /** A source that asks for less memory than another holds half of it, and waits for more. */
  def awaitsMemory: Boolean = {
    val smaller = all.filter(_.pool.config.bufferBytes < capacity).map(_.reader)
    smaller.exists(_.memory.isWaiting) && smaller.map(_.held).sum > capacity / 2
  }

  private var before = 0L

  /** Whether other memory is taken than when this was asked last. */
  def hasChanged(): Boolean = {
    val now = memory
    val is  = now != before
    before = now
    is
  }

  /** What each reader has, by its records and by the budget. */
  def holdings: Vector[Holding] = pools.all.flatMap { pool =>
    pool.all.map(reader => Holding(reader.shard, reader.isAsking, weigh(reader), reader.memory.used))
  }

  private val subscribing = mutable.Set.empty[ShardReader]

  /** How many readers by fan-out have memory, also those that are being closed and belong to no pool any more. To be asked after each change of memory,
    * as it remembers the readers that it has seen.
    */
  def fanOutHolders: Int = {
    subscribing ++= pools.all.filter(_.isFanOut).flatMap(_.all)
    subscribing.filterInPlace(_.memory.used > 0).size
  }

  // The last buffer of each reader: most looks find the same one.
  private val weighed = mutable.WeakHashMap.empty[ShardReader, (RecordBuffer, Long)]

  /** Counted anew, record by record. */
  private def weigh(reader: ShardReader): Long = {
    val now = reader.contents
    weighed
      .get(reader)
      .collect { case (before, bytes) if before eq now => bytes }
      .getOrElse {
        val bytes = now.answers.map(RecordTotals.of(_).heap).sum
        weighed(reader) = now -> bytes
        bytes
      }
  }

  /** Sources with a reader that is open and that they don't know any more. */
  def withStrays: Vector[String] =
    pools.all.filter(pool => pool.synchronized(pool.memory.open > pool.all.size)).map(_.config.sourceId)

  private def observed(pool: ShardReaderPool, reader: ShardReader) =
    ObservedReader(pool, reader, stateOf(reader.status))
}

object ReadersInside {

  /** What a poller takes for its largest answer. A task, or a source, may take it beyond the capacity. */
  val LargestRequest: Long = MemoryBudget.LargestRequest

  /** The memory of one reader.
    *
    * @param isAsking an answer is on its way, or waits for memory
    * @param held     bytes of the answers of which it has records
    * @param counted  bytes that it has of the budget
    */
  final case class Holding(shard: ShardKey, isAsking: Boolean, held: Long, counted: Long) {

    /** Bytes taken for an answer on its way. */
    def expected: Long = counted - held
  }

  final case class ObservedReader private[reader] (pool: ShardReaderPool, reader: ShardReader, state: String) {
    def shard: ShardKey   = reader.shard
    def source: String    = pool.config.sourceId
    def isFanOut: Boolean = pool.isFanOut

    override def toString: String = {
      val waits = if (reader.memory.isWaiting) " and waits for memory" else ""
      s"${shard.shardId} $state, holds ${reader.held} bytes$waits"
    }

    /** Whether the driver has named the reader since then, by the executor's clock. */
    def isNamedSince(nanos: Long): Boolean = pool.isNamedSince(shard, nanos)
  }

  /** The states of a reader. */
  val States: Vector[String] = Vector("opening", "behind", "holding", "idle", "full", "starved", "ended", "failed")

  private def stateOf(status: ReaderStatus): String =
    if (status.failure.isDefined) "failed"
    else if (status.isComplete) "ended"
    else if (status.openingMillis.isDefined) "opening"
    else if (status.starved) "starved"
    else if (status.isFull) "full"
    else if (status.records > 0) "holding"
    else if (status.millisBehind.contains(0L)) "idle"
    else "behind"
}
