package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.ShardPosition.ShardEnd
import io.github.kinesisspark.position.{SequenceNumber, ShardKey, ShardPosition}

/** Where reading stops in each shard, to the record. A shard that is not named is not read. Pure.
  *
  * @param byShard  of all shards that there were when the stops were fixed
  * @param atMillis when that was, by the service's clock
  * @param firsts   the first record of shards that begin at a time, if there was one. Another look may find another first one
  */
final case class Stops(
    byShard: Map[ShardKey, ShardPosition],
    atMillis: Long,
    firsts: Map[ShardKey, SequenceNumber] = Map.empty
) {

  def isDone(shard: ShardKey, position: ShardPosition): Boolean = byShard.get(shard) match {
    case Some(stop) => position == stop || stop.isBefore(position)
    case None       => true
  }

  /** Those of the shards that are not done. */
  def left(reading: Map[ShardKey, ShardPosition]): Map[ShardKey, ShardPosition] = reading.collect {
    case (shard, position) if !isDone(shard, position) => shard -> byShard(shard)
  }

  /** Up to when all that arrived in a shard comes before a position, in ms by the service's clock: where it has reached the stop.
    * The children of a closed shard may have begun before that, so it proves nothing.
    */
  def completeTo(shard: ShardKey, position: ShardPosition): Option[Long] =
    Option.when(byShard.get(shard).exists(_ != ShardEnd) && isDone(shard, position))(atMillis)
}
