package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.ShardPosition.ShardEnd
import io.github.kinesisspark.position.{ShardKey, ShardPosition}

/** Where a query ends in each shard, to the record, however many batches it takes. A shard that is not named is not read. Pure.
  *
  * @param ends     of all shards that there were when the bounds were fixed
  * @param atMillis when that was, by the service's clock
  */
final case class Bounds(ends: Map[ShardKey, ShardPosition], atMillis: Long) {

  def isDone(shard: ShardKey, position: ShardPosition): Boolean = ends.get(shard) match {
    case Some(end) => position == end || end.isBefore(position)
    case None      => true
  }

  /** The ends of the shards that are not done. */
  def left(reading: Map[ShardKey, ShardPosition]): Map[ShardKey, ShardPosition] = reading.collect {
    case (shard, position) if !isDone(shard, position) => shard -> ends(shard)
  }

  /** Up to when all that arrived in a shard comes before a position, in ms by the service's clock: where it has reached the end.
    * The children of a closed shard may have begun before that, so it proves nothing.
    */
  def completeTo(shard: ShardKey, position: ShardPosition): Option[Long] =
    Option.when(ends.get(shard).exists(_ != ShardEnd) && isDone(shard, position))(atMillis)
}
