package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import io.github.kinesisspark.position.{HashKeyRange, Shard}

/** What is known of one stream's shards: the last listing, and the children that came with the last answers of their parents.
  *
  * Such an answer is often newer than the listing, also than one that began before it and came back after: children that were
  * reported stay until a listing has them, or would have them by all means. All times are those of `System.nanoTime`.
  *
  * @param asOf when the listing was asked for
  * @param told by id; none of them is in the listing, and all their parents are known
  * @param past the hash keys of all shards that were known before
  */
final class ShardKnowledge private (
    listing: Vector[Shard],
    asOf: Long,
    told: Map[String, ShardKnowledge.Told],
    past: Map[String, HashKeyRange]
) {
  import ShardKnowledge._

  private val listed = listing.iterator.map(_.id).toSet
  private val shards = listing ++ told.values.map(_.shard)

  val lineage: Lineage = Lineage(shards)

  /** Of every shard that was ever known, as the records of a batch may outlive the listing of theirs. */
  val hashKeys: Map[String, HashKeyRange] =
    past ++ shards.iterator.filterNot(s => past.contains(s.id)).map(s => s.id -> s.hashKeys)

  /** Of two listings the one counts that was asked for later, whichever comes last. */
  def listed(shards: Vector[Shard], asOf: Long): ShardKnowledge =
    if (asOf - this.asOf < 0) this
    else {
      val unlisted = (told -- shards.map(_.id)).filter { case (_, child) => asOf - child.at < Patience.toNanos }
      new ShardKnowledge(shards, asOf, unlisted, hashKeys)
    }

  /** All children of a shard, as its last answer names them. One that has another parent, of which nothing is known yet, would enter
    * before it: that is left to the next listing.
    */
  def told(children: Iterable[Shard], at: Long): ShardKnowledge = {
    val fresh = children.filter(c => !listed(c.id) && c.parents.forall(p => listed(p) || told.contains(p)))
    new ShardKnowledge(listing, asOf, told ++ fresh.map(c => c.id -> Told(c, at)), hashKeys)
  }

  /** Shards that the service doesn't know of: only a listing brings them back. */
  def denied(shards: Iterable[String]): ShardKnowledge = new ShardKnowledge(listing, asOf, told -- shards, hashKeys)
}

object ShardKnowledge {

  /** A listing that is so much younger than the news of a shard and doesn't have it is right: nothing promises that listings
    * are up to date at once.
    */
  val Patience: FiniteDuration = 1.hour

  private final case class Told(shard: Shard, at: Long)

  def apply(listing: Vector[Shard], asOf: Long): ShardKnowledge =
    new ShardKnowledge(listing, asOf, Map.empty, Map.empty)
}
