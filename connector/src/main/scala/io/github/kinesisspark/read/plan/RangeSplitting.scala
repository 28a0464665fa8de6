package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.{ShardPosition, ShardRange}

/** How one shard's range becomes several, so that more tasks than shards can work on a batch.
  *
  * Each part is a range like any other: it begins where the one before it ends, with a record. So nothing depends on
  * where a batch was cut: a replay that cuts elsewhere, or not at all, reads the same records.
  */
object RangeSplitting {

  /** How many parts each range should have: as many as its share of `least` tasks, rounded up. Ranges of no known weight
    * stay whole.
    *
    * @param least  tasks to aim at
    * @param weight bytes of a range, if known
    */
  def parts(ranges: Seq[ShardRange], weight: ShardRange => Option[Long], least: Int): Vector[(ShardRange, Int)] = {
    val total = ranges.iterator.flatMap(weight(_)).sum
    ranges.iterator.map { range =>
      val share = weight(range).filter(_ > 0).fold(1.0)(_.toDouble * least / total)
      range -> math.max(1, math.ceil(share - Rounding).toInt)
    }.toVector
  }

  /** Where to cut records into at most `parts` of about the same bytes: the ends of all of them but the last.
    *
    * @param boundaries where they can be cut, each with the bytes up to it
    */
  def ends[A](boundaries: Seq[(A, Long)], parts: Int): Vector[A] = {
    val total = boundaries.lastOption.fold(0L)(_._2)
    val ends  = Vector.newBuilder[A]
    var next  = 1
    boundaries.dropRight(1).foreach { case (boundary, bytes) =>
      if (next < parts && bytes >= total * next / parts) {
        ends += boundary
        next += 1
      }
    }
    ends.result()
  }

  /** @param ends where each part but the last ends, in order, all of them inside of the range */
  def cut(range: ShardRange, ends: Seq[ShardPosition]): Vector[ShardRange] =
    (range.start +: ends).zip(ends :+ range.end).map { case (from, to) => ShardRange(range.shard, from, to) }.toVector

  // 4 * (1/4) of something must not become 2 parts of it.
  private val Rounding = 1e-6
}
