package io.github.kinesisspark.read.plan

import scala.collection.mutable
import scala.util.hashing.MurmurHash3

import io.github.kinesisspark.position.ShardKey

/** A shard that is to be read, as far as its assignment goes.
  *
  * @param hashStart where its hash keys begin, which decides its neighbours
  * @param load      what it carries, in any unit that all shards share; above 0
  * @param home      the executor that reads it now; of a child that is to be read for the first time, the one that read its parent
  */
final case class PlacedShard(shard: ShardKey, hashStart: BigInt, load: Double, home: Option[ExecutorId]) {
  require(load > 0, s"the load of $shard is $load")
}

/** Which executor reads which shard.
  *
  * A shard stays where it is read, for its buffer is there. Shards that nobody reads are assigned in runs of neighbours. Each run goes to the executor with
  * the most room and is as long as that room; among equal executors rendezvous hashing decides. Then, while an executor's load lies further from the mean
  * than the tolerance, a piece of a run moves from the executor with the largest load to the one with the smallest.
  *
  * So when an executor leaves, its shards alone move. When one joins, its share alone moves, all of it there. Exceptions: loads were uneven before, or a
  * single shard outweighs what is to be evened out. Neighbours stay together, so that the children of a split or merge are read where their parents were.
  * Without homes, the same shards and executors always give the same result.
  */
object ShardAssignment {

  /** @param tolerance of an executor's load, as a part of the mean */
  def assign(
      shards: Iterable[PlacedShard],
      executors: Iterable[ExecutorId],
      tolerance: Double
  ): Map[ShardKey, ExecutorId] =
    if (executors.isEmpty) Map.empty
    else {
      val dealing = new Dealing(shards, executors)
      dealing.keepHomes()
      dealing.dealOut()
      dealing.level(tolerance)
      dealing.result
    }

  /** By stream and hash keys. */
  private val InLine: Ordering[PlacedShard] = (one, other) => {
    val stream =
      if (one.shard.stream == other.shard.stream) 0 else one.shard.stream.text.compareTo(other.shard.stream.text)
    val keys = if (stream == 0) one.hashStart.compare(other.hashStart) else stream
    if (keys == 0) one.shard.shardId.compareTo(other.shard.shardId) else keys
  }

  private final class Member(val executor: ExecutorId) {
    val hash: Int = MurmurHash3.stringHash(executor.location)

    /** By their places in the line of all shards. */
    val shards: mutable.BitSet = mutable.BitSet.empty
    var load: Double           = 0.0
  }

  private final class Dealing(shards: Iterable[PlacedShard], executors: Iterable[ExecutorId]) {
    private val line = shards.toVector.sorted(InLine)
    private val crew = executors.toVector.distinct.sortBy(_.id).map(new Member(_))
    private val mean = line.iterator.map(_.load).sum / crew.size

    def keepHomes(): Unit = {
      val byId = crew.iterator.map(m => m.executor -> m).toMap
      for (i <- line.indices; member <- line(i).home.flatMap(byId.get)) take(member, i)
    }

    def dealOut(): Unit = {
      val taken = mutable.BitSet.empty
      crew.foreach(taken |= _.shards)
      runs(line.indices.filterNot(taken)).foreach(dealOut)
    }

    @annotation.tailrec
    private def dealOut(run: Seq[Int]): Unit = if (run.nonEmpty) {
      val member = crew.maxBy(m => (mean - m.load, score(run.head, m)))
      val piece  = run.take(fitting(run, mean - member.load).max(1))
      piece.foreach(take(member, _))
      dealOut(run.drop(piece.size))
    }

    /** How many of them fill the room best: half of the last one may exceed it. */
    private def fitting(run: Seq[Int], room: Double): Int =
      run.iterator
        .scanLeft(0.0)(_ + line(_).load)
        .zip(run.iterator)
        .takeWhile { case (sum, i) =>
          sum + line(i).load / 2 <= room
        }
        .size

    @annotation.tailrec
    def level(tolerance: Double): Unit = {
      val poorest = crew.minBy(_.load)
      val givers  = crew.sortBy(-_.load).iterator.filter { m =>
        m.load > mean * (1 + tolerance) || poorest.load < mean * (1 - tolerance)
      }
      givers.map(m => m -> movable(m, poorest)).find(_._2.nonEmpty) match {
        case None                 => ()
        case Some((giver, piece)) =>
          piece.foreach { i =>
            giver.shards -= i
            giver.load -= line(i).load
          }
          piece.foreach(take(poorest, _))
          level(tolerance)
      }
    }

    /** The beginning of a run, of the shortest one that allows it. As much as brings one of the two to the mean, which half of the last shard may exceed,
      * and at most half of their difference: more would swap their roles, and might never end.
      */
    private def movable(giver: Member, taker: Member): Seq[Int] = {
      val most                             = (giver.load - taker.load) / 2
      val wanted                           = (giver.load - mean).min(mean - taker.load)
      def leading(run: Seq[Int]): Seq[Int] = {
        val sums = run.iterator.map(line(_).load).scanLeft(0.0)(_ + _).toVector
        run.take(run.indices.takeWhile(n => sums(n) + line(run(n)).load / 2 <= wanted && sums(n + 1) <= most).size)
      }
      def lightest = giver.shards.toSeq.filter(line(_).load <= most).minByOption(line(_).load).toSeq
      if (most <= 0) Nil
      else runs(giver.shards.toSeq).sortBy(_.size).map(leading).find(_.nonEmpty).getOrElse(lightest)
    }

    def result: Map[ShardKey, ExecutorId] =
      crew.iterator.flatMap(m => m.shards.iterator.map(line(_).shard -> m.executor)).toMap

    private def take(member: Member, place: Int): Unit = {
      member.shards += place
      member.load += line(place).load
    }

    /** What lies beside each other in one stream. */
    private def runs(places: Seq[Int]): Vector[Vector[Int]] = {
      val runs = Vector.newBuilder[Vector[Int]]
      var run  = Vector.empty[Int]
      places.foreach { i =>
        if (run.isEmpty || (run.last == i - 1 && line(i).shard.stream == line(i - 1).shard.stream)) run :+= i
        else {
          runs += run
          run = Vector(i)
        }
      }
      if (run.nonEmpty) runs += run
      runs.result()
    }

    private def score(place: Int, member: Member): Int = {
      val shard = line(place).shard
      MurmurHash3.finalizeHash(MurmurHash3.mix(MurmurHash3.stringHash(shard.toString), member.hash), 1)
    }
  }
}
