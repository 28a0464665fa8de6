package io.github.kinesisspark.position

/** A shard's place in the world: offsets, assignments and readers are keyed by it. As a text it holds the stream's ARN, because
  * streams of several regions may share a name.
  */
final case class ShardKey(stream: StreamArn, shardId: String) {
  // Kept, because planning looks up ten thousand of them again and again.
  override val hashCode: Int    = 31 * stream.hashCode + shardId.hashCode
  override def toString: String = s"$stream/$shardId"
}

/** A shard as ListShards returns it.
  *
  * @param parents none for a shard of the stream's first hour, one after a split, two after a merge; a parent past
  *                retention is named here though it is listed no more
  * @param closed  no record will be added: the shard was split or merged away
  */
final case class Shard(id: String, parents: Seq[String], hashKeys: HashKeyRange, closed: Boolean)
