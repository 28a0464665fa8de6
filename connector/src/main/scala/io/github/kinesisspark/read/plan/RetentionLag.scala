package io.github.kinesisspark.read.plan

import java.time.Instant

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.Completeness.Gap

/** Whether a running query is so far behind that records may go before they are read.
  *
  * If what a reader had reached at one planning is past retention at the next, the service may have continued at the oldest record that was left, which it
  * never reports.
  *
  * @param reached all that arrived before is read, at the last planning; in ms since 1970, by the service's clock
  * @param overdue shards that were reported, and that haven't caught up since
  */
final case class RetentionLag(reached: Map[ShardKey, Long] = Map.empty, overdue: Set[ShardKey] = Set.empty) {

  /** @param reported of all shards that are read now, as far as it is known
    * @param horizon  what arrived before may be gone; in ms since 1970, by the service's clock
    * @return with the gaps that are new
    */
  def after(reported: Map[ShardKey, Option[Long]], horizon: ShardKey => Long): (RetentionLag, Map[ShardKey, Gap]) = {
    val gaps = for {
      shard <- reported.keysIterator.toVector
      time  <- reached.get(shard)
      oldest = horizon(shard) if time < oldest
    } yield shard -> Gap(Instant.ofEpochMilli(time), Instant.ofEpochMilli(oldest))
    val now = ShardMaps.collect(reported)((shard, time) => (time ++ reached.get(shard)).maxOption)
    (RetentionLag(now, gaps.map(_._1).toSet), gaps.filterNot { case (shard, _) => overdue(shard) }.toMap)
  }
}
