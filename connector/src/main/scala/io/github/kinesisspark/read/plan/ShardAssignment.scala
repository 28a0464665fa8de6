package io.github.kinesisspark.read.plan

import scala.collection.mutable
import scala.util.hashing.MurmurHash3

import io.github.kinesisspark.position.ShardKey

/** An executor that can hold shard readers. */
final case class ExecutorId(host: String, id: String) {

  /** Spark's name for "run it in this executor", as tasks' preferred locations take it. */
  def location: String = s"executor_${host}_$id"
}

/** Which executor reads which shard: rendezvous hashing, no executor taking more than its even share.
  *
  * The same shards and executors give the same answer everywhere and always; an executor that comes or goes moves about
  * one share of the shards, not all of them.
  */
object ShardAssignment {

  def assign(shards: Iterable[ShardKey], executors: Iterable[ExecutorId]): Map[ExecutorId, Vector[ShardKey]] =
    if (executors.isEmpty) Map.empty
    else {
      val ordered = shards.toVector.sortBy(s => (s.stream.text, s.shardId))
      val hashes  = executors.toVector.distinct.sortBy(_.id).map(e => e -> MurmurHash3.stringHash(e.location))
      val share   = (ordered.size + hashes.size - 1) / hashes.size
      val taken   = mutable.LinkedHashMap.from(hashes.map(_._1 -> Vector.newBuilder[ShardKey]))
      val counts  = mutable.HashMap.empty[ExecutorId, Int].withDefaultValue(0)
      ordered.foreach { shard =>
        val hash   = MurmurHash3.stringHash(shard.stream.text + '/' + shard.shardId)
        val chosen =
          hashes.iterator.filter { case (e, _) => counts(e) < share }.maxBy { case (_, h) => score(hash, h) }._1
        taken(chosen) += shard
        counts(chosen) += 1
      }
      taken.view.mapValues(_.result()).toMap
    }

  private def score(shard: Int, executor: Int): Int = MurmurHash3.finalizeHash(MurmurHash3.mix(shard, executor), 2)
}
