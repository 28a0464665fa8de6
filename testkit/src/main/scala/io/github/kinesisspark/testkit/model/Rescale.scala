package io.github.kinesisspark.testkit.model

/** The way from any open shards to `target` uniform ones, as UpdateShardCount goes it: split wherever a new border lies
  * inside a shard, then merge the pieces of each new range, which leaves short-lived shards in between.
  */
sealed trait Rescale
object Rescale {

  /** Split whatever shard holds this hash key, so that one begins with it. */
  final case class SplitAt(key: BigInt) extends Rescale

  /** Merge the shard that begins with this hash key with the one after it. */
  final case class MergeNext(start: BigInt) extends Rescale

  def plan(open: Vector[HashRange], target: Int): Vector[Rescale] = {
    val wanted  = HashRange.uniform(target)
    val borders = open.map(_.start).toSet
    val splits  = wanted.map(_.start).filterNot(borders)
    val pieces  = (borders ++ splits).toVector.sorted
    val place   = pieces.zipWithIndex.toMap.withDefaultValue(pieces.size)
    val merges  = wanted.flatMap { range =>
      Vector.fill(place(range.end + 1) - place(range.start) - 1)(MergeNext(range.start))
    }
    splits.map(SplitAt(_)) ++ merges
  }
}
