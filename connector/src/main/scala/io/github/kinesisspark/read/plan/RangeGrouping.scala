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

  /** In each task, and from task to task of one executor, ranges are in the order they were given in.
    *
    * @param weight bytes of a range, if known
    * @param most   tasks for one executor, or for all ranges that are nowhere yet, unless more are asked for
    * @param least  tasks in all, if there are as many ranges
    */
  def group(
      ranges: Seq[ShardRange],
      home: ShardRange => Option[ExecutorId],
      weight: ShardRange => Long,
      most: Option[ExecutorId] => Int,
      least: Int = 1
  ): Vector[Group] = {
    val homes  = ranges.groupBy(home).toVector.sortBy(_._1.map(_.id))
    val enough = homes.map { case (executor, own) =>
      math.max(1, math.min(most(executor).toLong, own.map(weight).sum / BytesWorthATask + 1).toInt).min(own.size)
    }
    homes.map(_._2).zip(atLeast(least, enough, homes.map(_._2.size))).zip(homes.map(_._1)).flatMap {
      case ((own, tasks), executor) => spread(own, weight, tasks).map(Group(executor, _))
    }
  }

  /** Adds tasks where there is most left to share, till there are so many in all, or one for each range. */
  private def atLeast(least: Int, tasks: Vector[Int], ranges: Vector[Int]): Vector[Int] = {
    val granted = tasks.toArray
    var missing = math.min(least, ranges.sum) - granted.sum
    while (missing > 0) {
      val fullest = granted.indices.filter(i => granted(i) < ranges(i)).maxBy(i => ranges(i).toDouble / granted(i))
      granted(fullest) += 1
      missing -= 1
    }
    granted.toVector
  }

  private def spread(ranges: Seq[ShardRange], weight: ShardRange => Long, tasks: Int): Vector[Vector[ShardRange]] = {
    val bins  = Vector.fill(tasks)(new Bin)
    val bytes = ranges.iterator.map(weight).toArray
    val next  = mutable.PriorityQueue(bins: _*)(Ordering.by((b: Bin) => (-b.bytes, -b.places.size)))
    // Stable: equal ones stay in their order.
    ranges.indices.sortBy(-bytes(_)).foreach { place =>
      val lightest = next.dequeue()
      lightest.places += place
      lightest.bytes += bytes(place)
      next.enqueue(lightest)
    }
    bins.map(_.places.sorted.toVector).filter(_.nonEmpty).sortBy(_.head).map(_.map(ranges))
  }

  private final class Bin {
    val places: mutable.ArrayBuffer[Int] = mutable.ArrayBuffer.empty
    var bytes: Long                      = 0L
  }
}
