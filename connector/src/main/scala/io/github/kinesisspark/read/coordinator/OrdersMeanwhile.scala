package io.github.kinesisspark.read.coordinator

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.coordinator.OrdersMeanwhile.Sent
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.ResolvedPublisher

/** What the executors of one source have been ordered, from the end of a planning to the next: in a batch, which may take long, the query's own thread sends
  * nothing. Readers that are missing meanwhile are ordered again, and those of a lost executor elsewhere, by the thread that finds it. Pure.
  *
  * @param orders     as in the sender
  * @param reading    who has shards
  * @param lastNumber the highest number of all orders
  * @param by         how they read
  * @param resting    who gets no further shards, because orders have failed there
  * @param moved      shards that are read elsewhere than the planning had it
  */
private[coordinator] final case class OrdersMeanwhile(
    orders: Map[ExecutorId, ReaderOrders],
    reading: Set[ExecutorId],
    lastNumber: Long,
    by: ResolvedPublisher,
    resting: Set[ExecutorId],
    moved: Map[ShardKey, ExecutorId] = Map.empty
) {

  /** The epochs of those that have shards. */
  def epochs: Map[String, Long] = for ((executor, known) <- orders if reading(executor))
    yield executor.id -> known.epoch

  /** An executor's readers are missing. */
  def renewed(executor: String): Option[(OrdersMeanwhile, Vector[Sent])] = for {
    (id, known) <- orders.find(_._1.id == executor) if reading(id) && !known.isUndone
    order       <- known.renewed
  } yield (and(id, order), Vector(id -> order))

  /** Executors don't answer: the others get their shards, who has fewest first. The lost are sent that they read them no more, which they find when they answer
    * again.
    */
  def without(lost: Set[ExecutorId], others: Set[ExecutorId]): Option[(OrdersMeanwhile, Vector[Sent])] = {
    val gone   = lost.filter(reading)
    val takers = (others -- lost -- resting).toVector.sortBy(_.id)
    Option.when(gone.nonEmpty && takers.nonEmpty) {
      val tasks = gone.toVector.flatMap(orders.get).flatMap(_.open).sortBy(t => (t.shard.stream.text, t.shard.shardId))
      val homes = tasks.foldLeft(Map.empty[ShardKey, ExecutorId]) { (homes, task) =>
        def load(e: ExecutorId) = orders.get(e).fold(0)(_.open.size) + homes.valuesIterator.count(_ == e)
        homes + (task.shard -> takers.minBy(load))
      }
      val releases = for {
        executor <- gone.toVector
        known    <- orders.get(executor)
        order    <- known.next(Vector.empty, by)
      } yield executor -> order
      val takings = for {
        (executor, own) <- tasks.groupBy(task => homes(task.shard)).toVector.sortBy(_._1.id)
        order           <- orders.getOrElse(executor, ReaderOrders.none.copy(number = lastNumber)).taking(own, by)
      } yield executor -> order
      val all  = releases ++ takings
      val next = all.foldLeft(this) { case (now, (executor, order)) => now.and(executor, order) }
      (next.copy(reading = reading -- gone ++ homes.values, moved = moved ++ homes), all)
    }
  }

  private def and(executor: ExecutorId, order: (ReaderOrders, ReaderOrders.Changes)) =
    copy(orders + (executor -> order._1), lastNumber = lastNumber.max(order._1.number))
}

private[coordinator] object OrdersMeanwhile {

  /** An executor's next order. */
  type Sent = (ExecutorId, (ReaderOrders, ReaderOrders.Changes))
}
