package io.github.kinesisspark.read.coordinator

import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.coordinator.ReaderOrders._
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{ReadOrder, ResolvedPublisher}

/** What one executor has been ordered to read, from which follows what it is to be ordered next: only what has changed. Pure.
  *
  * @param number          of the last order
  * @param awaited         the last order before a batch is planned: what was reported before it is about other shards, or as old as the batch before
  * @param lastOfAllShards the last order that named all shards
  * @param committed       the last order that had records dropped
  * @param epoch           the last order that changed which shards it reads: until that is carried out, it may read for others
  * @param shards          all that it reads
  * @param publisher       by which it reads; readers of a consumer that is another now have to begin anew
  * @param isInBatch       a batch of some of them has begun and is not committed yet
  * @param isUndone        an order may not have been carried out, so that the next one names all shards
  */
private[coordinator] final case class ReaderOrders(
    number: Long,
    awaited: Long,
    lastOfAllShards: Long,
    committed: Long,
    epoch: Long,
    shards: Map[ShardKey, ReadOrder.ShardToRead],
    publisher: Option[ResolvedPublisher],
    isInBatch: Boolean,
    isUndone: Boolean
) {

  /** Before a batch is planned. Nothing where nothing has changed.
    *
    * @param wanted all that it shall read, from where the batch starts
    */
  def next(wanted: Vector[ReadOrder.ShardToRead], by: ResolvedPublisher): Option[(ReaderOrders, Changes)] =
    if (isUndone || !publisher.contains(by)) Some(allShards(wanted, by)) else changed(wanted)

  private def allShards(wanted: Vector[ReadOrder.ShardToRead], by: ResolvedPublisher): (ReaderOrders, Changes) = {
    val all = byShard(wanted)
    // Where the same order is sent again, a late report of the first one counts. Otherwise no report of a slow executor would ever count.
    val isSame = publisher.contains(by) && all == shards
    val now    = ReaderOrders(
      number + 1,
      awaited = if (isSame) awaited else number + 1,
      lastOfAllShards = number + 1,
      committed = number + 1,
      epoch = number + 1,
      all,
      Some(by),
      isInBatch = false,
      isUndone = false
    )
    now -> Changes(isOfAllShards = true, commit = false, wanted, Vector.empty, Vector.empty)
  }

  private def changed(wanted: Vector[ReadOrder.ShardToRead]): Option[(ReaderOrders, Changes)] = {
    var kept = 0
    val read = wanted.filterNot { one =>
      val known = shards.get(one.shard)
      if (known.isDefined) kept += 1
      known.contains(one)
    }
    val release =
      if (kept == shards.size) Vector.empty
      else {
        val all = wanted.iterator.map(_.shard).toSet
        shards.keysIterator.filterNot(all).toVector
      }
    Option.when(read.nonEmpty || release.nonEmpty || isInBatch) {
      val done = if (isInBatch) number + 1 else committed
      val all  = if (read.size == wanted.size) byShard(wanted) else shards -- release ++ byShard(read)
      val last = if (release.nonEmpty || all.size != shards.size) number + 1 else epoch
      val now  =
        copy(number + 1, awaited = number + 1, committed = done, epoch = last, shards = all, isInBatch = false)
      now -> Changes(isOfAllShards = false, commit = isInBatch, read, release, Vector.empty)
    }
  }

  /** When a batch begins.
    *
    * @param ends of those of its shards that move
    */
  def beginBatch(ends: Vector[(ShardKey, ShardPosition)]): Option[(ReaderOrders, Changes)] = {
    val moved = for {
      (shard, end) <- ends
      known        <- shards.get(shard)
    } yield known.copy(position = end)
    if (moved.isEmpty || isUndone) None
    else {
      val own = moved.map(one => one.shard -> one.position)
      val now = copy(number + 1, shards = shards ++ byShard(moved), isInBatch = true)
      Some(now -> Changes(isOfAllShards = false, commit = false, Vector.empty, Vector.empty, own))
    }
  }

  /** While a batch runs, where the readers are missing: all that they shall read, from where the batch ends. */
  def renewed: Option[(ReaderOrders, Changes)] = publisher.flatMap(copy(isUndone = true).next(open, _))

  /** While a batch runs: these too, which an executor that doesn't answer has read.
    *
    * @param by for an executor that has read nothing
    */
  def taking(more: Vector[ReadOrder.ShardToRead], by: ResolvedPublisher): Option[(ReaderOrders, Changes)] =
    if (isUndone || !publisher.contains(by)) copy(isUndone = true).next(open ++ more, by)
    else {
      val now = copy(number + 1, awaited = number + 1, epoch = number + 1, shards = shards ++ byShard(more))
      Some(now -> Changes(isOfAllShards = false, commit = false, more, Vector.empty, Vector.empty))
    }

  /** Its shards that have not ended. */
  def open: Vector[ReadOrder.ShardToRead] = shards.valuesIterator.filter(_.position != ShardPosition.ShardEnd).toVector

  /** Tasks of a real-time batch have begun to read these: they are released with the others where they are read elsewhere, or have ended. Otherwise the
    * next order names them, wherever they are.
    */
  def begun(some: Iterable[ShardKey]): ReaderOrders = copy(shards =
    some.foldLeft(shards)((all, shard) =>
      all.updated(shard, ReadOrder.ShardToRead(shard, ShardPosition.ShardEnd, stop = None, isClosed = false))
    )
  )

  /** An order may not have been carried out. */
  def undone(order: Long): ReaderOrders = if (order >= lastOfAllShards) copy(isUndone = true) else this
}

private[coordinator] object ReaderOrders {
  val none: ReaderOrders =
    ReaderOrders(0, 0, 0, 0, 0, Map.empty, None, isInBatch = false, isUndone = false)

  /** Of an executor that has no order, or is lost and found again: it may know orders of up to that number. */
  def after(lastNumber: Long): ReaderOrders = none.copy(number = lastNumber)

  /** Orders may not have been carried out.
    *
    * @param last of each executor
    */
  def undone(orders: Map[ExecutorId, ReaderOrders], last: Map[String, Long]): Map[ExecutorId, ReaderOrders] =
    orders.transform((executor, known) => last.get(executor.id).fold(known)(known.undone))

  private def byShard(shards: Vector[ReadOrder.ShardToRead]) = shards.iterator.map(one => one.shard -> one).toMap

  /** What an order says, as [[ReadOrder]] has it. */
  final case class Changes(
      isOfAllShards: Boolean,
      commit: Boolean,
      read: Vector[ReadOrder.ShardToRead],
      release: Vector[ShardKey],
      batchEnds: Vector[(ShardKey, ShardPosition)]
  )
}
