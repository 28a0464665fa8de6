package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import io.github.kinesisspark.position.{HashKeyRange, Shard}

/** What is known of one stream's shards: what listings have shown of late, and the children that came with the last answers of their parents.
  *
  * A listing proves what it has, and nothing by what it lacks: it may be older than the listing before it, and older than a shard's last answer. So a
  * shard that was seen stays for a while without being listed, and is gone at once only where the service denies it. All times are those of
  * the driver's clock.
  *
  * @param seen by id
  * @param gone when the service denied each shard that it denied. One is kept for an hour, and for longer while a shard that is seen has it as a parent.
  */
final class ShardKnowledge private (seen: Map[String, ShardKnowledge.KnownShard], gone: Map[String, Long]) {
  import ShardKnowledge._

  val lineage: Lineage =
    Lineage(
      seen.values.map(_.shard),
      gone.keySet,
      unlisted = seen.valuesIterator.filterNot(_.isListed).map(_.shard.id).toSet
    )

  /** Also of shards that are listed no more: the records of a batch may outlive that. */
  def hashKeys(shardIds: Set[String]): Map[String, HashKeyRange] =
    shardIds.iterator.flatMap(id => seen.get(id).map(id -> _.shard.hashKeys)).toMap

  /** Those of the shards that no listing and no parent has named, and that the service has not denied. */
  def unknown(shardIds: Set[String]): Set[String] = shardIds -- seen.keySet -- gone.keySet

  /** @param asOf when the listing was asked for; of two, either may be newer */
  def listed(shards: Iterable[Shard], asOf: Long): ShardKnowledge = {
    def isOfLate(at: Long) = asOf - at < Patience.toNanos
    val kept    = merged(shards, KnownShard(_, asOf, isListed = true)).filter { case (_, s) => isOfLate(s.at) }
    val parents = kept.valuesIterator.flatMap(_.shard.parents).toSet
    new ShardKnowledge(kept, gone.filter { case (id, at) => isOfLate(at) || parents(id) })
  }

  /** Children of a shard, as its last answer names them. */
  def withChildren(children: Iterable[Shard], at: Long): ShardKnowledge =
    new ShardKnowledge(merged(children, KnownShard(_, at, isListed = false)), gone)

  /** Shards that the service doesn't know. Their ids are never used again. */
  def denied(shards: Iterable[String], at: Long): ShardKnowledge =
    new ShardKnowledge(seen -- shards, gone ++ shards.map(_ -> at))

  private def merged(shards: Iterable[Shard], now: Shard => KnownShard) = shards.iterator
    .filterNot(shard => gone.contains(shard.id))
    .foldLeft(seen)((all, shard) => all.updated(shard.id, all.get(shard.id).fold(now(shard))(_.and(now(shard)))))
}

object ShardKnowledge {

  /** How long a shard stays that listings don't have, or that the service has denied. */
  val Patience: FiniteDuration = 1.hour

  val none: ShardKnowledge = new ShardKnowledge(Map.empty, Map.empty)

  /** @param at       the last time
    * @param isListed in a listing, and not only by a parent
    */
  private final case class KnownShard(shard: Shard, at: Long, isListed: Boolean) {

    /** A shard that is closed is not opened again. */
    def and(other: KnownShard): KnownShard = KnownShard(
      other.shard.copy(closed = shard.closed || other.shard.closed),
      if (other.at - at > 0) other.at else at,
      isListed || other.isListed
    )
  }
}
