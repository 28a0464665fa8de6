package io.github.kinesisspark.aws

import io.github.kinesisspark.position.Shard

/** When shards opened and closed, which no call reports: found by asking which shards were open at a time, and halving until all
  * changes are known to the second. A reshard changes what is open for good, so that between two equal answers there was none.
  *
  * @param opened in ms since 1970; nothing of those that were open from the beginning
  * @param closed in ms since 1970
  */
private[kinesisspark] final case class ShardTimes(opened: Map[String, Long], closed: Map[String, Long]) {

  /** With the shards that came and went within a second, which were open at no time that was asked about.
    *
    * @param from the beginning of what was asked about
    */
  def withShortLived(shards: Seq[Shard], from: Long): ShardTimes = shards.sortBy(_.id).foldLeft(this) { (times, shard) =>
    if (!shard.closed || times.closed.contains(shard.id)) times
    else {
      val opened = times.opened.get(shard.id).orElse(shard.parents.flatMap(times.closed.get).maxOption)
      ShardTimes(
        times.opened ++ opened.map(shard.id -> _),
        times.closed + (shard.id -> opened.getOrElse(from))
      )
    }
  }
}

private[kinesisspark] object ShardTimes {
  private val Resolution = 1000L

  /** @param from   the beginning of what is asked about, in ms since 1970
    * @param now    its end
    * @param open   now
    * @param openAt asked about 17 times for each reshard of a day
    */
  def find(from: Long, now: Long, open: Set[String])(openAt: Long => Set[String]): ShardTimes = {
    def between(start: Long, before: Set[String], end: Long, after: Set[String]): Vector[ShardTimes] =
      if (before == after) Vector.empty
      else if (end - start <= Resolution)
        Vector(ShardTimes((after -- before).map(_ -> end).toMap, (before -- after).map(_ -> end).toMap))
      else {
        val middle  = start + (end - start) / 2
        val halfway = openAt(middle)
        between(start, before, middle, halfway) ++ between(middle, halfway, end, after)
      }
    val found = between(from, openAt(from), now, open)
    ShardTimes(found.flatMap(_.opened).toMap, found.flatMap(_.closed).toMap)
  }
}
