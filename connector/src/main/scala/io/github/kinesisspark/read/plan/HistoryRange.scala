package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.position.ShardPosition._

/** The range of a stream's history between positions in some of its shards: what a batch read is to read.
  *
  * These shards' ancestors come before the positions as a whole, their descendants after them. So an offset
  * of a query has such positions, and so have the shards that are open at some time.
  */
object HistoryRange {

  /** The range of one shard: what `start` is followed by, up to where `end` begins. */
  final case class Piece(shardId: String, start: ShardPosition, end: ShardPosition)

  /** @param pieces   parents before children
    * @param unlisted shards in between that are not known: they may be past retention
    */
  final case class Found(pieces: Vector[Piece], unlisted: Vector[String])

  type Positions = collection.Map[String, ShardPosition]

  /** @return the shards in which the end comes before the start, on the left */
  def between(lineage: Lineage, start: Positions, end: Positions): Either[Vector[String], Found] = {
    val beforeStart      = lineage.ancestors(start.keys)
    val beforeEnd        = lineage.ancestors(end.keys)
    val afterStart       = lineage.descendants(start.keys)
    def from(id: String) = start.get(id).orElse(if (beforeStart(id) || !afterStart(id)) None else Some(TrimHorizon))
    def to(id: String)   = end.get(id).orElse(Option.when(beforeEnd(id))(ShardEnd))
    val reversed         = (start.keySet ++ end.keySet).toVector.sorted.filter { id =>
      (start.get(id), to(id)) match {
        case (Some(a), Some(b))     => b.isBefore(a)
        case (Some(ShardEnd), None) => false
        case (Some(_), None)        => true
        case (None, _)              => beforeStart(id) && end.get(id).exists(isWithin)
      }
    }
    if (reversed.nonEmpty) Left(reversed)
    else {
      val pieces =
        for {
          id <- lineage.inOrder ++ start.keys.filterNot(lineage.has).toVector.sorted
          a  <- from(id) if a != ShardEnd
          b  <- to(id) if b != TrimHorizon && b != a
        } yield Piece(id, a, b)
      val unlisted =
        (pieces.map(_.shardId) ++ end.keys.toVector.sorted.filter(id => isWithin(end(id)))).filterNot(lineage.has)
      Right(Found(pieces, unlisted.distinct))
    }
  }

  /** Listed shards about which positions that people gave say nothing: neither they nor their ancestors or descendants are named. */
  def uncovered(lineage: Lineage, positions: Positions): Vector[String] = {
    val related = lineage.ancestors(positions.keys) ++ lineage.descendants(positions.keys)
    lineage.inOrder.filterNot(id => positions.contains(id) || related(id))
  }

  /** With records before it. */
  private def isWithin(position: ShardPosition) = position != ShardEnd && position != TrimHorizon
}
