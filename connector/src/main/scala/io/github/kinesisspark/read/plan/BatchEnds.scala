package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.Admission.{Allotment, Available, Limits}
import io.github.kinesisspark.read.plan.BatchEnds._

/** Where each shard's part of a batch ends: as far as its reader has read, within the limits, and no further ahead of the
  * slowest shard than the alignment allows.
  *
  * Whatever the limits and the alignment say, somebody moves: the shard with the oldest record is never ahead of the
  * others, and a record beyond a limit makes a batch of its own. Only an alignment that [[WatermarkAlignment.blocks]] stops all.
  *
  * @param turn    grows from batch to batch: it says whose turn it is when there is less than one record for each
  * @param unheard what is still expected from shards that others wait for and nothing is held of, as far as it is known
  */
final case class BatchEnds(
    limits: Limits,
    alignment: WatermarkAlignment,
    turn: Long,
    unheard: Vector[Long]
) {

  /** The parts of the shards that move.
    *
    * @param cut the longest prefixes of what readers hold within the given numbers
    */
  def of[P <: Part](held: Vector[Held[P]])(cut: Vector[Allotment] => Map[ShardKey, P]): Map[ShardKey, P] = {
    val latest = horizon(held.flatMap(_.ahead.toCome))
    val all    = takeUntil(latest, held, cut)
    if (!limits.bind(all.valuesIterator.map(_.records).sum, all.valuesIterator.map(_.bytes).sum)) all
    else {
      // With less than all the slowest shard may not come as far: only what is near its beginning is sure to be near its end.
      val near  = until(horizon(held.flatMap(h => h.ahead.oldest.orElse(h.ahead.toCome))))
      val some  = held.filter(h => all.contains(h.shard) && h.ahead.oldest.forall(_ <= near))
      val taken = share(some, all, until(latest), cut)
      val again = until(horizonAfter(held, taken))
      val early = held.filter(h => taken.get(h.shard).exists(_.newestArrival.exists(_ > again)))
      val level = taken ++ cut(early.map(h => Allotment(h.shard, taken(h.shard).records, Long.MaxValue, again)))
      level ++ fill(held, all, level, cut)
    }
  }

  /** What the limits have left goes to whoever is not ahead of where the others end now. */
  private def fill[P <: Part](
      held: Vector[Held[P]],
      all: Map[ShardKey, P],
      level: Map[ShardKey, P],
      cut: Vector[Allotment] => Map[ShardKey, P]
  ): Map[ShardKey, P] = {
    val to   = until(horizonAfter(held, level))
    val room = limits.without(level.valuesIterator.map(_.records).sum, level.valuesIterator.map(_.bytes).sum)
    def records(part: Option[P]) = part.fold(0L)(_.records)
    def bytes(part: Option[P])   = part.fold(0L)(_.bytes)
    val available                = for {
      h <- held
      mine = level.get(h.shard)
      if mine.fold(h.ahead.oldest)(_.nextArrival).exists(_ <= to)
      most <- all.get(h.shard)
    } yield Available(h.shard, most.records - records(mine), most.bytes - bytes(mine))
    val allotments = Admission.divide(available, room, turn).getOrElse(available.map(_.whole)).filter(_.maxRecords > 0)
    if (allotments.isEmpty) Map.empty
    else
      cut(allotments.map { a =>
        val mine = level.get(a.shard)
        Allotment(a.shard, records(mine) + a.maxRecords, bytes(mine) + a.maxBytes, to)
      })
  }

  private def horizonAfter[P <: Part](held: Vector[Held[P]], taken: Map[ShardKey, P]) =
    horizon(held.flatMap(h => taken.get(h.shard).fold(toComeBefore(h))(toComeAfter(h, _))))

  private def horizon(toCome: Iterable[Long]) = alignment.horizon(toCome ++ unheard)

  private def takeUntil[P <: Part](
      latest: Option[Long],
      held: Vector[Held[P]],
      cut: Vector[Allotment] => Map[ShardKey, P]
  ): Map[ShardKey, P] = {
    val within           = held.filter(_.ahead.oldest.forall(_ <= until(latest)))
    val (whole, partial) = within.partition(h => h.ahead.newest.forall(_ <= until(latest)))
    whole.map(h => h.shard -> h.all).toMap ++
      cut(partial.map(h => Allotment(h.shard, Long.MaxValue, Long.MaxValue, until(latest))))
  }

  private def share[P <: Part](
      held: Vector[Held[P]],
      all: Map[ShardKey, P],
      latest: Long,
      cut: Vector[Allotment] => Map[ShardKey, P]
  ): Map[ShardKey, P] = {
    val available = held.map { h =>
      val most = all(h.shard)
      Available(h.shard, most.records, most.bytes)
    }
    val (holding, empty) = available.partition(_.records > 0)
    Admission.divide(available, limits, turn) match {
      case None             => held.map(h => h.shard -> all(h.shard)).toMap
      case Some(allotments) =>
        val within = cut(allotments.map(_.copy(maxArrival = latest)))
        // A record larger than the whole limit must not stop the stream: then it makes a batch of its own.
        val cuts =
          if (within.values.exists(_.records > 0)) within
          else cut(Vector(Allotment(holding((turn.abs % holding.size).toInt).shard, 1, Long.MaxValue, latest)))
        cuts ++ empty.map(e => e.shard -> all(e.shard))
    }
  }

  private def toComeBefore(held: Held[_ <: Part]) = held.ahead.oldest.orElse(held.ahead.toCome)

  private def toComeAfter(held: Held[_ <: Part], part: Part) = part.nextArrival.orElse(held.ahead.toCome)
}

object BatchEnds {

  /** A prefix of what a reader holds. */
  trait Part {
    def records: Long

    /** Of data and keys. */
    def bytes: Long

    /** The latest arrival in it, in ms by the service's clock. */
    def newestArrival: Option[Long]

    /** The earliest arrival to come in what is held and not taken. */
    def nextArrival: Option[Long]
  }

  /** What a reader holds beyond the batch's start.
    *
    * @param all the whole of it, as a part
    */
  final case class Held[P <: Part](shard: ShardKey, all: P, ahead: WatermarkAlignment.Ahead)

  private def until(horizon: Option[Long]) = horizon.getOrElse(Long.MaxValue)
}
