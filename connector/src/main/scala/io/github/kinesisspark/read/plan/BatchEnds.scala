package io.github.kinesisspark.read.plan

import io.github.kinesisspark.read.plan.Admission.{Allotment, Available, Limits}
import io.github.kinesisspark.read.plan.BatchEnds._

/** Where each shard's part of a batch ends: as far as its reader has read, within the limits, and no further ahead of the
  * slowest shard than the alignment allows.
  *
  * At least one shard moves, regardless of limits and alignment: the shard with the oldest record is never ahead of the
  * others, and a record beyond a limit makes a batch of its own. Exception: [[WatermarkAlignment.blocks]] stops all shards.
  *
  * @param fairnessOffset grows from batch to batch: it says whose turn it is when there is less than one record for each
  * @param notReported    what is still expected from shards that others wait for and nothing is held of, as far as it is known
  */
final case class BatchEnds(
    limits: Limits,
    alignment: WatermarkAlignment,
    fairnessOffset: Long,
    notReported: Vector[Long]
) {

  /** The parts of the shards, in their order; nothing for those that don't move. */
  def of(held: Vector[BufferedRange]): Vector[Option[CutPoint]] = {
    val latest = until(horizon(held.iterator.flatMap(_.ahead.earliestPending)))
    val all    = held.map(takeUntil(latest, _))
    if (!limits.bind(sum(all)(_.records), sum(all)(_.bytes))) all
    else {
      // With less than all the slowest shard may not come as far: only what is near its beginning is sure to be near its end.
      val near          = until(horizon(held.iterator.flatMap(pendingBefore(_))))
      val some          = beside(held, all)((h, part) => part.filter(_ => h.ahead.oldest.forall(_ <= near)))
      val taken         = share(held, some, latest)
      val sharedHorizon = until(horizonAfter(held, taken))
      val level         = beside(held, taken)((h, part) => part.map(takeEarly(sharedHorizon, h, _)))
      fill(held, all, level)
    }
  }

  /** The rest of the limits goes to shards that are not ahead of where the others end now. */
  private def fill(
      held: Vector[BufferedRange],
      all: Vector[Option[CutPoint]],
      level: Vector[Option[CutPoint]]
  ): Vector[Option[CutPoint]] = {
    val to        = until(horizonAfter(held, level))
    val room      = limits.minus(sum(level)(_.records), sum(level)(_.bytes))
    val available = held.indices.map { i =>
      val (own, most) = (level(i), all(i))
      if (most.isDefined && own.fold(held(i).ahead.oldest)(_.nextArrival).exists(_ <= to))
        Available(records(most) - records(own), bytes(most) - bytes(own))
      else Available.nothing
    }
    val more = Admission.divide(available, room, fairnessOffset).getOrElse(available.map(_.all))
    held.indices.iterator.map { i =>
      val (own, most) = (level(i), more(i))
      if (most.maxRecords == 0) own
      else Some(held(i).cut(Allotment(records(own) + most.maxRecords, bytes(own) + most.maxBytes, to)))
    }.toVector
  }

  private def horizonAfter(held: Vector[BufferedRange], taken: Vector[Option[CutPoint]]) = horizon(
    held.iterator.zip(taken.iterator).flatMap { case (h, part) => part.fold(pendingBefore(h))(pendingAfter(h, _)) }
  )

  private def horizon(earliestPending: Iterator[Long]) = alignment.horizon(earliestPending ++ notReported)

  private def takeUntil(latest: Long, held: BufferedRange): Option[CutPoint] =
    if (held.ahead.oldest.exists(_ > latest)) None
    else if (held.ahead.newest.forall(_ <= latest)) Some(held.all)
    else Some(held.cut(Allotment(Long.MaxValue, Long.MaxValue, latest)))

  private def takeEarly(latest: Long, held: BufferedRange, part: CutPoint): CutPoint =
    if (part.newestArrival.exists(_ > latest)) held.cut(Allotment(part.records, Long.MaxValue, latest)) else part

  private def share(
      held: Vector[BufferedRange],
      some: Vector[Option[CutPoint]],
      latest: Long
  ): Vector[Option[CutPoint]] = {
    val available = some.map(part => Available(records(part), bytes(part)))
    Admission.divide(available, limits, fairnessOffset) match {
      case None             => some
      case Some(allotments) =>
        val cuts = some.indices.iterator.map { i =>
          if (records(some(i)) == 0) some(i)
          else Some(allotments(i)).filter(_.maxRecords > 0).map(most => held(i).cut(most.copy(maxArrival = latest)))
        }.toVector
        // A record larger than the whole limit must not stop the stream: then it makes a batch of its own.
        if (cuts.exists(records(_) > 0)) cuts
        else {
          val next = Admission.firstServed(available, fairnessOffset)
          cuts.updated(next, Some(held(next).cut(Allotment(1, Long.MaxValue, latest))))
        }
    }
  }

  private def pendingBefore(held: BufferedRange) = held.ahead.oldest.orElse(held.ahead.earliestPending)

  private def pendingAfter(held: BufferedRange, part: CutPoint) =
    part.nextArrival.orElse(held.ahead.earliestPending)
}

object BatchEnds {

  /** What a reader holds beyond the batch's start.
    *
    * @param all the whole of it, as a part
    * @param cut the longest prefix within an allotment
    */
  final case class BufferedRange(all: CutPoint, ahead: WatermarkAlignment.Ahead, cut: Allotment => CutPoint)

  private def until(horizon: Option[Long]) = horizon.getOrElse(Long.MaxValue)

  private def records(part: Option[CutPoint]) = part.fold(0L)(_.records)

  private def bytes(part: Option[CutPoint]) = part.fold(0L)(_.bytes)

  private def sum(parts: Vector[Option[CutPoint]])(of: CutPoint => Long) = {
    var sum = 0L
    parts.foreach(_.foreach(part => sum += of(part)))
    sum
  }

  /** By the places of shards, because there may be ten thousand: looking each up in maps takes longer than all the rest. */
  private def beside(held: Vector[BufferedRange], parts: Vector[Option[CutPoint]])(
      part: (BufferedRange, Option[CutPoint]) => Option[CutPoint]
  ): Vector[Option[CutPoint]] = held.indices.iterator.map(i => part(held(i), parts(i))).toVector
}
