package io.github.kinesisspark.testkit.model

/** What listings show of a stream's shards: the shard map as it was some time ago. A value.
  *
  * @param versions shard maps and since when they have been true, oldest first; none is forgotten while a page of a listing
  *   that began with it can still be asked for
  */
final case class ShardListings private (lagMillis: Long, versions: Vector[ShardListings.Version]) {
  import ShardListings._

  /** What a listing shows that begins at a time. */
  def at(millis: Long): ShardMap =
    versions.reverseIterator.find(_.shownFrom(lagMillis) <= millis).getOrElse(versions.head).map

  def after(map: ShardMap, now: Long): ShardListings = {
    val oldest = now - Quota.NextTokenMillis
    val needed = versions.lastIndexWhere(_.shownFrom(lagMillis) <= oldest)
    copy(versions = if (lagMillis == 0) Vector(Version(now, map)) else versions.drop(needed) :+ Version(now, map))
  }
}

object ShardListings {
  final case class Version(since: Long, map: ShardMap) {
    def shownFrom(lagMillis: Long): Long = since + lagMillis
  }

  /** A new stream's shards, which are shown from the beginning. */
  def of(map: ShardMap, now: Long, lagMillis: Long): ShardListings = ShardListings(lagMillis, Vector(Version(now, map)))
}
