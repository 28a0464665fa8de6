package io.github.kinesisspark.read.stream

import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.catalog.{Parallel, PeekingClients, ShardCatalog}
import io.github.kinesisspark.read.plan.{HistoryPart, PlanningState}

/** Where a query with `Trigger.AvailableNow` ends in each shard: with what was in it when the query started, to the record,
  * however many batches it takes. A shard that was opened since is left to the next run.
  *
  * @param ends of all shards there were
  * @param at   when that was, in ms by the service's clock
  */
final class AvailableNow private (val ends: Map[ShardKey, ShardPosition], at: Long) {

  def isDone(shard: ShardKey, position: ShardPosition): Boolean = ends.get(shard) match {
    case Some(end) => position == end || HistoryPart.isBefore(end, position)
    case None      => true
  }

  /** Up to when all that arrived in a shard comes before a position, in ms by the service's clock: where it has reached the end.
    * The children of a closed shard may have begun before that, so it proves nothing.
    */
  def completeTo(shard: ShardKey, position: ShardPosition): Option[Long] =
    Option.when(ends.get(shard).exists(_ != ShardEnd) && isDone(shard, position))(at)
}

object AvailableNow {

  /** Blocks while it looks for the newest record of each open shard. */
  def fix(catalog: ShardCatalog, planning: PlanningState): AvailableNow = {
    import catalog.clients.runtime
    val shards =
      for {
        stream <- catalog.streams
        id     <- stream.lineage.inOrder
      } yield ShardKey(stream.arn, id) -> stream.lineage.isClosed(id)
    val (closed, open) = shards.partition(_._2)
    val now            = catalog.serviceTime()
    val tips = PeekingClients.using(catalog.clients, catalog.streams.map(s => s.arn -> s.access).toMap) { ends =>
      Parallel.map(open) { case (shard, _) =>
        shard -> ends.tip(shard, planning.reading.getOrElse(shard, TrimHorizon), now).end
      }
    }
    new AvailableNow(closed.map(_._1 -> ShardEnd).toMap ++ tips, now)
  }
}
