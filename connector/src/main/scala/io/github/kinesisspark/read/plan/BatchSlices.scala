package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtSequenceNumber}
import io.github.kinesisspark.position.{SequenceNumber, ShardKey, ShardPosition, ShardRange}

/** How much a batch's ranges hold, and where they can be cut, so that tasks are of about the same size. The offset log has the ranges alone: after a restart
  * nothing of this is known ([[BatchSlices.none]]), and the same rows are read by other tasks. Pure.
  *
  * @param byShard of the shards that readers hold something of
  */
final case class BatchSlices(byShard: Map[ShardKey, BatchSlices.Slice]) {

  lazy val ends: Map[ShardKey, CutPoint] = byShard.transform((_, slice) => slice.end)

  def positions: Map[ShardKey, ShardPosition] = byShard.transform((_, slice) => slice.end.position)

  /** Those ends that lie behind the batch's start. */
  def moved: Vector[(ShardKey, ShardPosition)] = byShard.iterator.collect {
    case (shard, slice) if slice.end.position != slice.start => shard -> slice.end.position
  }.toVector

  /** The first records of slices that begin with a certain one. */
  def firsts: Map[ShardKey, SequenceNumber] = byShard.collect {
    case (shard, BatchSlices.Slice(AtSequenceNumber(number), _, _)) => shard -> number
  }

  /** With slices that end later than their readers stand. Where they can be cut is not known.
    *
    * @param statuses of these readers
    */
  def extended(later: Map[ShardKey, CutPoint], statuses: Map[ShardKey, ReaderStatus]): BatchSlices =
    if (later.isEmpty) this
    else BatchSlices(byShard ++ later.transform((shard, end) => BatchSlices.Slice(statuses(shard).start, end, None)))

  /** Cuts the ranges for at least `leastTasks` tasks, where there are enough places to cut. Returns each piece with its bytes, as far as they are known. */
  def split(ranges: Seq[ShardRange], leastTasks: Int): Seq[(ShardRange, Long)] =
    RangeSplitting.parts(ranges, range => byShard.get(range.shard).map(_.end.bytes), leastTasks).flatMap {
      case (range, wanted) =>
        val some = RangeSplitting.cut(range, RangeSplitting.ends(cutPoints(range), wanted))
        some.map(_ -> weight(range) / some.size)
    }

  /** A range's bytes, or a guess. */
  def weight(range: ShardRange): Long = byShard.get(range.shard).fold(RangeGrouping.BytesWorthATask)(_.end.bytes)

  /** Where a range that was planned can be cut, with the bytes up to there. */
  private def cutPoints(range: ShardRange): Vector[(ShardPosition, Long)] = for {
    slice      <- byShard.get(range.shard).toVector if slice.start == range.start && slice.end.position == range.end
    boundaries <- slice.boundaries.toVector
    boundary   <- boundaries.all.takeWhile(_.records <= slice.end.records)
  } yield AfterSequenceNumber(boundary.last) -> boundary.bytes
}

object BatchSlices {
  val none: BatchSlices = BatchSlices(Map.empty)

  /** @param boundaries where it can be cut, also behind its end, if that is known */
  final case class Slice(start: ShardPosition, end: CutPoint, boundaries: Option[Boundaries])
}
