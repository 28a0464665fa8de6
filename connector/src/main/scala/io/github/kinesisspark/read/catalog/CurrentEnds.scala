package io.github.kinesisspark.read.catalog

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.position.ShardPosition.{ShardEnd, TrimHorizon}
import io.github.kinesisspark.read.plan.{PlanningState, Stops}

/** Where the shards of a source end now. */
object CurrentEnds {

  /** Blocks while it looks for the newest record of each shard that may be open. Left: shards that have gone past retention, so that the batch is to be
    * planned again.
    *
    * @param now      by the service's clock: when the shards were listed
    * @param planning by that listing
    * @param readTo   all that arrived in a shard up to then comes before a position, in ms by the service's clock, if known
    */
  def of(
      catalog: ShardCatalog,
      now: Long,
      planning: PlanningState,
      readTo: (ShardKey, ShardPosition) => Option[Long]
  ): Either[Vector[ShardKey], Stops] = {
    import catalog.clients.runtime
    val shards =
      for {
        stream <- catalog.streams
        id     <- stream.lineage.inOrder
      } yield ShardKey(stream.arn, id) -> stream.lineage.isClosed(id)
    val (closed, listed) = shards.partition(_._2)
    // A shard that no listing has may be past retention, which the planning has not found out yet.
    val open            = listed.map(_._1) ++ planning.doubtful
    val ends            = catalog.ends()
    val (missing, tips) = Parallel
      .map(open) { shard =>
        val from = planning.reading.getOrElse(shard, TrimHorizon)
        try Right(shard -> ends.tip(shard, from, now, readTo(shard, from)))
        catch { case e: KinesisException if e.reason == FailureReason.NotFound => Left(shard -> e) }
      }
      .partitionMap(identity)
    val gone = catalog.gone(missing.map(_._1))
    missing.collectFirst { case (shard, cause) if !gone(shard) => throw cause }
    def stops  = closed.map(_._1 -> ShardEnd) ++ tips.map { case (shard, tip) => shard -> tip.end }
    def firsts = tips.flatMap { case (shard, tip) => tip.first.map(shard -> _) }
    if (missing.nonEmpty) Left(missing.map(_._1)) else Right(Stops(stops.toMap, now, firsts.toMap))
  }
}
