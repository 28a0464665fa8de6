package io.github.kinesisspark.read.plan

import scala.collection.mutable

import io.github.kinesisspark.position.ShardRange

/** Which ranges share a task. Tasks follow cores and bytes, not shards: a thousand quiet shards need no thousand tasks.
  *
  * Ranges stay with the executor whose readers hold them; there they are spread over its cores by size, the largest first.
  */
object RangeGrouping {

  /** Below this a further task costs more than it saves. */
  val BytesWorthATask: Long = 1L << 20

  /** @param executor where the ranges' buffers are, if anywhere */
  final case class Group(executor: Option[ExecutorId], ranges: Vector[ShardRange])

  /** @param weight           bytes of a range, as far as known
    * @param coresPerExecutor at most this many tasks for one executor
    */
  def group(
      ranges: Seq[ShardRange],
      home: ShardRange => Option[ExecutorId],
      weight: ShardRange => Long,
      coresPerExecutor: Int
  ): Vector[Group] =
    ranges.groupBy(home).toVector.sortBy(_._1.map(_.id)).flatMap { case (executor, mine) =>
      val total = mine.map(weight).sum
      val tasks = math.max(1, math.min(math.min(coresPerExecutor, mine.size), (total / BytesWorthATask).toInt + 1))
      spread(mine, weight, tasks).map(Group(executor, _))
    }

  private def spread(ranges: Seq[ShardRange], weight: ShardRange => Long, tasks: Int): Vector[Vector[ShardRange]] = {
    val bins = Vector.fill(tasks)(new Bin)
    val next = mutable.PriorityQueue.from(bins)(Ordering.by((b: Bin) => (-b.bytes, -b.ranges.size)))
    ranges.sortBy(r => (-weight(r), r.shard.toString)).foreach { range =>
      val lightest = next.dequeue()
      lightest.ranges += range
      lightest.bytes += weight(range)
      next.enqueue(lightest)
    }
    bins.map(_.ranges.toVector).filter(_.nonEmpty)
  }

  private final class Bin {
    val ranges: mutable.ArrayBuffer[ShardRange] = mutable.ArrayBuffer.empty
    var bytes: Long                             = 0L
  }
}
