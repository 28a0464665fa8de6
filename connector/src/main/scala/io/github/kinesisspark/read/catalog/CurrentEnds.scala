package io.github.kinesisspark.read.catalog

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.position.ShardPosition.{ShardEnd, TrimHorizon}
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.Bounds

/** Where the shards of a source end now. */
object CurrentEnds {

  /** Blocks while it looks for the newest record of each open shard. Left: shards that have gone past retention meanwhile, so that the batch is to be
    * planned again.
    *
    * @param reading where shards are read that have begun
    */
  def of(catalog: ShardCatalog, reading: Map[ShardKey, ShardPosition]): Either[Vector[ShardKey], Bounds] = {
    import catalog.clients.runtime
    val shards =
      for {
        stream <- catalog.streams
        id     <- stream.lineage.inOrder
      } yield ShardKey(stream.arn, id) -> stream.lineage.isClosed(id)
    val (closed, open)  = shards.partition(_._2)
    val now             = catalog.serviceTime()
    val (missing, tips) = ProbeClients
      .using(catalog.clients, catalog.access) { ends =>
        Parallel.map(open) { case (shard, _) =>
          try Right(shard -> ends.tip(shard, reading.getOrElse(shard, TrimHorizon), now).end)
          catch { case e: KinesisException if e.reason == FailureReason.NotFound => Left(shard -> e) }
        }
      }
      .partitionMap(identity)
    val gone = catalog.gone(missing.map(_._1))
    missing.collectFirst { case (shard, cause) if !gone(shard) => throw cause }
    if (missing.nonEmpty) Left(missing.map(_._1)) else Right(Bounds(closed.map(_._1 -> ShardEnd).toMap ++ tips, now))
  }
}
