package io.github.kinesisspark.it.soak

import io.github.kinesisspark.testkit.KinesisServer
import io.github.kinesisspark.testkit.model.{ShardInfo, ShardState}

/** Has the server forget what no batch can need any more, so that its memory doesn't grow with the time. A batch is run when
  * the one before it is committed; one more is kept to be on the safe side.
  */
final class Retention(server: KinesisServer, stream: String) {
  private var seen    = Set.empty[String]
  private var batches = Vector.empty[(Long, Map[String, String])]

  def running(id: Long, rows: Vector[Row]): Unit = synchronized {
    val shards       = rows.groupMapReduce(_.shardId)(_.sequenceNumber)((_, later) => later)
    batches = batches.filter(_._1 < id) :+ (id -> (shards ++ parentsOf(shards.keySet)))
    val (past, kept) = batches.partition(_._1 < id - 1)
    batches = kept
    for ((_, ends) <- past; (shard, below) <- ends) server.streams.trim(stream, shard, below)
  }

  /** A shard that is read for the first time has parents that are read to their ends. */
  private def parentsOf(shards: Set[String]): Map[String, String] = {
    val fresh = shards -- seen
    seen ++= fresh
    if (fresh.isEmpty) Map.empty
    else {
      val all = server.streams.shards(stream).map(s => s.id -> s).toMap
      fresh.flatMap(all(_).parents).flatMap(all.get).flatMap(endOf).toMap
    }
  }

  private def endOf(shard: ShardInfo) = shard.state match {
    case ShardState.Closed(_, ending) => Some(shard.id -> ending)
    case ShardState.Open              => None
  }
}
