package io.github.kinesisspark.aws

import io.github.kinesisspark.position.Shard

import scala.annotation.tailrec
import scala.collection.immutable.Queue

/** When shards opened and closed, which no call reports: found by asking which shards were open at a time, and halving until all
  * changes are known to the second, or [[ShardTimes.MostQuestions]] are asked. A reshard changes what is open for good, so that between two equal
  * answers there was none.
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

  /** With as many, 30 reshards of a day are known to the second. Each may take some pages of ListShards, and somebody waits. */
  val MostQuestions = 500

  /** A change between two answers is somewhere between their times. */
  private final case class Gap(start: Long, before: Set[String], end: Long, after: Set[String]) {
    def hasChange: Boolean = before != after
    def middle: Long       = start + (end - start) / 2
    def times: ShardTimes  = ShardTimes((after -- before).map(_ -> end).toMap, (before -- after).map(_ -> end).toMap)
  }

  /** @param from   the beginning of what is asked about, in ms since 1970
    * @param now    its end
    * @param open   now
    * @param openAt asked about 17 times for each reshard of a day
    */
  def find(from: Long, now: Long, open: Set[String])(openAt: Long => Set[String]): ShardTimes = {
    // The widest first, so that what is left is known about as well everywhere.
    @tailrec def narrowed(gaps: Queue[Gap], questions: Int, found: Vector[Gap]): Vector[Gap] =
      gaps.dequeueOption match {
        case None                                => found
        case Some((gap, rest)) if !gap.hasChange => narrowed(rest, questions, found)
        case Some((gap, rest)) if questions == 0 || gap.end - gap.start <= Resolution =>
          narrowed(rest, questions, found :+ gap)
        case Some((gap, rest)) =>
          val halfway = openAt(gap.middle)
          val halves  = Seq(gap.copy(end = gap.middle, after = halfway), gap.copy(start = gap.middle, before = halfway))
          narrowed(rest ++ halves, questions - 1, found)
      }
    val found = narrowed(Queue(Gap(from, openAt(from), now, open)), MostQuestions - 1, Vector.empty).map(_.times)
    ShardTimes(found.flatMap(_.opened).toMap, found.flatMap(_.closed).toMap)
  }
}
