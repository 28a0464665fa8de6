package io.github.kinesisspark.read.coordinator

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.coordinator.OrdersMeanwhile.Sent
import io.github.kinesisspark.read.plan.{ExecutorId, PlacedShard, ShardAssignment}
import io.github.kinesisspark.read.reader.{ReadOrder, ResolvedPublisher}

/** What the executors of one source have been ordered, from the end of a planning to the next: in a batch, which may take long, the query's own thread sends
  * nothing. Readers that are missing meanwhile are ordered again, and those of an executor that doesn't answer elsewhere, by the thread that finds it. Pure.
  *
  * @param orders     as in the sender
  * @param reading    executors that have shards
  * @param lastNumber the highest number of all orders
  * @param by         how they read
  * @param resting    executors that get no further shards, because orders have failed there
  * @param isFollowed tasks follow the readers where they are: another executor's would be nobody's, and would displace them
  * @param moved      shards that are read elsewhere than the planning had it
  */
private[coordinator] final case class OrdersMeanwhile(
    orders: Map[ExecutorId, ReaderOrders],
    reading: Set[ExecutorId],
    lastNumber: Long,
    by: ResolvedPublisher,
    resting: Set[ExecutorId],
    isFollowed: Boolean,
    moved: Map[ShardKey, ExecutorId] = Map.empty
) {

  /** The epochs of the executors that have shards. */
  def epochs: Map[String, Long] = for ((executor, known) <- orders if reading(executor))
    yield executor.id -> known.epoch

  /** Orders may not have been carried out.
    *
    * @param last of each executor
    */
  def undone(last: Map[String, Long]): OrdersMeanwhile = copy(orders = ReaderOrders.undone(orders, last))

  /** An executor's readers are missing. */
  def renewed(executor: String): Option[(OrdersMeanwhile, Vector[Sent])] = renewedIf(executor)(!_.isUndone)

  /** An executor's readers are there.
    *
    * @param applied the last order that it has carried out: one after that is sent again if it may have been lost, unless orders fail there
    */
  def repeated(executor: String, applied: Long): Option[(OrdersMeanwhile, Vector[Sent])] =
    if (resting.exists(_.id == executor)) None
    else renewedIf(executor)(known => known.isUndone && applied < known.number)

  private def renewedIf(executor: String)(isDue: ReaderOrders => Boolean) = for {
    (id, known) <- orders.find(_._1.id == executor) if reading(id) && isDue(known)
    order       <- known.renewed
  } yield (and(id, order), Vector(id -> order))

  /** Gives the shards of executors that don't answer to others. An executor that doesn't answer is also sent the order to release its shards, and carries it
    * out when it answers again.
    */
  def reassigned(from: Set[ExecutorId], to: Set[ExecutorId]): Option[(OrdersMeanwhile, Vector[Sent])] = {
    val gone   = from.filter(reading)
    val takers = (to -- from -- resting).toVector.sortBy(_.id)
    Option.when(!isFollowed && gone.nonEmpty && takers.nonEmpty) {
      val shards   = open(gone)
      val homes    = homesAmong(takers, shards)
      val releases = for {
        executor <- gone.toVector
        known    <- orders.get(executor)
        order    <- known.next(Vector.empty, by)
      } yield executor -> order
      val takings = for {
        (executor, own) <- shards.groupBy(one => homes(one.shard)).toVector.sortBy(_._1.id)
        order           <- orders.getOrElse(executor, ReaderOrders.after(lastNumber)).taking(own, by)
      } yield executor -> order
      val all  = releases ++ takings
      val next = all.foldLeft(this) { case (now, (executor, order)) => now.and(executor, order) }
      (next.copy(reading = reading -- gone ++ homes.values, moved = moved ++ homes), all)
    }
  }

  /** As by a planning that moves no other shard, and by the shards' number and ids alone: orders have neither loads nor hash keys. */
  private def homesAmong(takers: Vector[ExecutorId], shards: Vector[ReadOrder.ShardToRead]) = {
    def placed(one: ReadOrder.ShardToRead, home: Option[ExecutorId]) =
      PlacedShard(one.shard, hashStart = 0, load = 1, home)
    val kept  = takers.flatMap(taker => open(Set(taker)).map(placed(_, Some(taker))))
    val homes = ShardAssignment.assign(kept ++ shards.map(placed(_, None)), takers, tolerance = Double.PositiveInfinity)
    shards.iterator.map(one => one.shard -> homes(one.shard)).toMap
  }

  private def open(executors: Set[ExecutorId]) = executors.toVector.flatMap(orders.get).flatMap(_.open)

  private def and(executor: ExecutorId, order: (ReaderOrders, ReaderOrders.Changes)) =
    copy(orders + (executor -> order._1), lastNumber = lastNumber.max(order._1.number))
}

private[coordinator] object OrdersMeanwhile {

  /** An executor's next order. */
  type Sent = (ExecutorId, (ReaderOrders, ReaderOrders.Changes))
}
