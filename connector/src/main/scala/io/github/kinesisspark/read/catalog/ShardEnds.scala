package io.github.kinesisspark.read.catalog

import scala.annotation.tailrec

import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position.{SequenceNumber, ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.read.plan.LatestPositionSearch

/** Turns what is meant ("now", "up to noon", "from the oldest record on") into positions that stay what they are: sequence numbers.
  *
  * Only numbers are exact. A record's time of arrival is approximate, a record may come in with an earlier time than the one
  * before it, and the oldest record is another one an hour later.
  *
  * @param probes looks into the shards of a stream
  */
final class ShardEnds(probes: StreamArn => ShardProbes) {
  import ShardEnds._

  /** Where the shard's newest record is, seen from a position before it.
    *
    * @param now    by the service's clock: what arrives later isn't waited for
    * @param readTo all that arrived up to then comes before the position, by the service's clock, if known
    */
  def tip(shard: ShardKey, from: ShardPosition, now: Long, readTo: Option[Long] = None): Extent =
    tip(shard, from, now, readTo, isFuture(_, now))

  /** @param isTooLate by the time of arrival */
  private def tip(
      shard: ShardKey,
      from: ShardPosition,
      now: Long,
      readTo: Option[Long],
      isTooLate: Long => Boolean
  ): Extent = {
    val looks = probes(shard.stream)

    def isLate(record: Probe.Record) = isTooLate(record.arrivalMillis)
    def isDone(probe: Probe)         = probe.isTip || probe.records.exists(isLate)
    def done(last: Probe): Extent    = last.records.indexWhere(isLate) match {
      case -1 =>
        val newest = last.records.lastOption
        val end    = if (last.isEnd) ShardEnd else newest.fold(from)(r => AfterSequenceNumber(r.number))
        Extent(end, newest.map(_.arrivalMillis))
      case 0    => Extent(AtSequenceNumber(last.records.head.number), Some(now))
      case late =>
        // An end after a record: a read shows whether that one is still there.
        val newest = last.records(late - 1)
        Extent(AfterSequenceNumber(newest.number), Some(newest.arrivalMillis))
    }

    @tailrec def search(state: LatestPositionSearch, last: Probe): Extent = state.next match {
      case None =>
        val next = looks.after(shard, last, MostRecords)
        // Nothing after what was found: that was the tip.
        val seen = if (next.records.isEmpty) next.copy(records = last.records) else next
        if (isDone(seen)) done(seen) else search(state.readMore(seen.records.last.arrivalMillis), seen)
      case Some(time) =>
        // Only a look with records is taken for the tip. So a false "nothing" makes the way longer, not the end wrong.
        val probe = looks.at(shard, AtTimestamp(time), if (state.isNear) FewRecords else MostRecords, confirms = false)
        if (probe.records.isEmpty) search(state.foundNothing(time), last)
        else if (isDone(probe)) done(probe)
        else search(state.foundMore(time, probe.records.last.arrivalMillis), probe)
    }

    val recent = readTo.map(looks.since(_, shard, from, MostRecords, confirms = true))
    // What begins at a time begins with the first record from the position itself on.
    val first = recent.filter(seen => !from.isTime || isNothing(seen)).getOrElse(looks.at(shard, from, MostRecords))
    val tip   =
      if (isDone(first)) done(first).copy(size = Option.when(!first.records.exists(isLate))(Size(first)))
      else search(LatestPositionSearch(now, first.records.last.arrivalMillis), first)
    tip.copy(first = first.records.headOption.map(_.number))
  }

  /** Where a reader would begin that starts with what arrived at a time; the tip, if nothing did. */
  def at(shard: ShardKey, from: ShardPosition, time: Long, now: Long): Extent =
    if (isFuture(time, now)) tip(shard, from, now)
    else {
      val probe = probes(shard.stream).at(shard, AtTimestamp(time), 1)
      probe.records.headOption match {
        case Some(first)         => Extent(AtSequenceNumber(first.number), Some(time))
        case None if probe.isEnd => Extent(ShardEnd, None)
        // What arrives from now on comes after the time, too.
        case None => tip(shard, from, now, readTo = None, _ >= time)
      }
    }

  /** Whether nothing is there from a position on, by one answer of the service: neither a record nor the shard's end.
    *
    * @param readTo all that arrived up to then comes before the position, in ms by the service's clock, if known
    */
  def isTip(shard: ShardKey, from: ShardPosition, readTo: Option[Long]): Boolean = {
    val looks = probes(shard.stream)
    isNothing(readTo.fold(looks.at(shard, from, 1, confirms = false))(looks.since(_, shard, from, FewRecords)))
  }

  private def isNothing(probe: Probe) = probe.records.isEmpty && !probe.isEnd

  /** The first record from a position on.
    *
    * @param confirms whether an answer that nothing is there is to be confirmed, which takes another call
    */
  def first(shard: ShardKey, from: ShardPosition, confirms: Boolean = true): Option[Probe.Record] =
    probes(shard.stream).at(shard, from, 1, confirms).records.headOption
}

object ShardEnds {

  /** @param end    exact
    * @param newest when the last record before it arrived, about
    * @param size   of what there is up to it, if all of that was seen
    * @param first  the first record there is, if it was looked for
    */
  final case class Extent(
      end: ShardPosition,
      newest: Option[Long],
      size: Option[Size] = None,
      first: Option[SequenceNumber] = None
  )

  /** @param bytes of data and keys */
  final case class Size(records: Long, bytes: Long)

  object Size {
    def apply(seen: Probe): Size = Size(seen.records.size.toLong, seen.bytes)
  }

  /** For one look: at most 10 MB, of which a shard gives 2 MB a second. */
  private val MostRecords = 1000

  /** For a look of which most see none, or are far from the tip. */
  private val FewRecords = 100

  /** Whether a time is in the future for sure.
    *
    * @param now as the service returns it: in whole seconds, so that it may be a second later
    */
  def isFuture(time: Long, now: Long): Boolean = time >= now + ClockTick

  val ClockTick = 1000L
}
