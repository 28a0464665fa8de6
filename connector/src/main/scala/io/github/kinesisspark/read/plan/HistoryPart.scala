package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.position.ShardPosition._

/** The part of a stream's history between two cuts through it: what a batch read is to read.
  *
  * A cut names a position in some shards. Their ancestors come before it as a whole, their descendants after it. So an offset
  * of a query is a cut, and so are the shards that are open at some time.
  */
object HistoryPart {

  /** A part of one shard: what `start` is followed by, up to where `end` begins. */
  final case class Piece(shardId: String, start: ShardPosition, end: ShardPosition)

  /** @param pieces   parents before children
    * @param unlisted shards between the cuts that are not known: they may be past retention
    */
  final case class Found(pieces: Vector[Piece], unlisted: Vector[String])

  type Cut = collection.Map[String, ShardPosition]

  /** @return the shards in which the end comes before the start, on the left */
  def between(lineage: Lineage, start: Cut, end: Cut): Either[Vector[String], Found] = {
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

  /** Listed shards about which a cut that people made says nothing: neither they nor their ancestors or descendants are in it. */
  def uncovered(lineage: Lineage, cut: Cut): Vector[String] = {
    val related = lineage.ancestors(cut.keys) ++ lineage.descendants(cut.keys)
    lineage.inOrder.filterNot(id => cut.contains(id) || related(id))
  }

  /** With records before it. */
  private def isWithin(position: ShardPosition) = position != ShardEnd && position != TrimHorizon
}
