package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.{Shard, ShardKey}

/** Which shards a task of a real-time batch continues with when some of its own end: the children whose parents have all been read to
  * their end, in this task or in batches before. Those of which another task reads a parent are left to the next batch.
  *
  * @param ended   shards that are read to their end, as far as this task knows
  * @param waiting children that wait for another parent
  * @param begun   children that this task has begun, or that are read without that: a position may name a child beside its parent
  */
final case class ChildHandover(
    ended: Set[ShardKey],
    waiting: Map[ShardKey, Shard] = Map.empty,
    begun: Set[ShardKey] = Set.empty
) {

  /** After a shard's end.
    *
    * @param children as the service reported them with it; if it didn't, they are left to the next batch
    * @return with the children to begin now, at their trim horizon
    */
  def end(shard: ShardKey, children: Iterable[Shard]): (ChildHandover, Vector[(ShardKey, Shard)]) = {
    val done           = ended + shard
    val all            = waiting ++ children.map(child => ShardKey(shard.stream, child.id) -> child)
    val (ready, later) = all.partition { case (key, child) =>
      child.parents.nonEmpty && child.parents.forall(parent => done(ShardKey(key.stream, parent)))
    }
    val next = ready.filterNot { case (key, _) => begun(key) }
    (ChildHandover(done, later, begun ++ next.keys), next.toVector.sortBy(_._1.shardId))
  }
}
