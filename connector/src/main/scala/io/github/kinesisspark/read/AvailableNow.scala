package io.github.kinesisspark.read

import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.shard.{RecordBuffer, ShardTip}

/** What `Trigger.AvailableNow` still has to read of each shard: what was in it when the query started.
  *
  * Kinesis does not tell a shard's end, so the reader finds it: it is where an answer says that nothing is behind it, or
  * brings a record that arrived after the start. From then on the shard's end is a number of records that shrinks with
  * every batch, and nothing beyond it is taken, however many batches a limit makes of it.
  *
  * @param startMillis when the query started, by the service's clock
  */
final class AvailableNow(startMillis: Long) {
  private var left = Map.empty[ShardKey, Long]

  def isDone(shard: ShardKey): Boolean = left.get(shard).contains(0L)

  /** Records to take at most, of the shards whose end is known. */
  def caps(tips: Iterable[ShardTip]): Map[ShardKey, Long] = {
    left = left ++ tips.collect { case tip if !left.contains(tip.shard) && reachesEnd(tip) => tip.shard -> tip.records }
    left
  }

  def taken(cuts: collection.Map[ShardKey, RecordBuffer.Cut]): Unit =
    left = left.map { case (shard, records) => shard -> (records - cuts.get(shard).fold(0L)(_.records)) }

  // The service tells its time in whole seconds, so "after the start" is the second after it.
  private def reachesEnd(tip: ShardTip) =
    tip.position == ShardPosition.ShardEnd || tip.millisBehind.contains(0L) || tip.newestArrival.exists(
      _ >= startMillis
    )
}
