package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.ShardPosition.AfterSequenceNumber
import io.github.kinesisspark.position.{ShardKey, ShardPosition, ShardRange}

/** What is known of a batch beside its ranges, which the offset log has: how much is in them and where they can be cut, so that tasks are of about the
  * same size. A batch that comes from the log after a restart has none of it ([[PlannedBatch.ofLog]]), and is read by other tasks with the same rows. Pure.
  *
  * @param parts of the shards that readers hold something of
  */
final case class PlannedBatch(parts: Map[ShardKey, PlannedBatch.Part]) {

  /** Where the shards' parts end. */
  lazy val ends: Map[ShardKey, CutPoint] = parts.transform((_, part) => part.end)

  /** Those ends that lie behind the batch's start. */
  def moved: Vector[(ShardKey, ShardPosition)] = parts.iterator.collect {
    case (shard, part) if part.end.position != part.start => shard -> part.end.position
  }.toVector

  /** With parts that end later than their readers stand: nobody knows where they can be cut.
    *
    * @param starts of all shards of the batch
    */
  def extended(later: Map[ShardKey, CutPoint], starts: Map[ShardKey, ShardPosition]): PlannedBatch =
    if (later.isEmpty) this
    else PlannedBatch(parts ++ later.transform((shard, end) => PlannedBatch.Part(starts(shard), end, None)))

  /** Ranges for at least so many tasks, if their records can be shared among so many, each with its bytes as far as they are known. */
  def split(ranges: Seq[ShardRange], leastTasks: Int): Seq[(ShardRange, Long)] =
    RangeSplitting.parts(ranges, range => parts.get(range.shard).map(_.end.bytes), leastTasks).flatMap {
      case (range, wanted) =>
        val some = RangeSplitting.cut(range, RangeSplitting.ends(cutPoints(range), wanted))
        some.map(_ -> weight(range) / some.size)
    }

  /** A range's bytes, or a guess. */
  def weight(range: ShardRange): Long = parts.get(range.shard).fold(RangeGrouping.BytesWorthATask)(_.end.bytes)

  /** Where a range that was planned can be cut, with the bytes up to there. */
  private def cutPoints(range: ShardRange): Vector[(ShardPosition, Long)] = for {
    part       <- parts.get(range.shard).toVector if part.start == range.start && part.end.position == range.end
    boundaries <- part.boundaries.toVector
    boundary   <- boundaries.all.takeWhile(_.records <= part.end.records)
  } yield AfterSequenceNumber(boundary.last) -> boundary.bytes
}

object PlannedBatch {
  val ofLog: PlannedBatch = PlannedBatch(Map.empty)

  /** @param boundaries where it can be cut, also behind its end, if that is known */
  final case class Part(start: ShardPosition, end: CutPoint, boundaries: Option[Boundaries])
}
