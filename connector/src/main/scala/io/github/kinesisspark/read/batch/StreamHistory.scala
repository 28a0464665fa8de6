package io.github.kinesisspark.read.batch

import org.slf4j.LoggerFactory

import io.github.kinesisspark.config.{OptionException, StartingPosition}
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.catalog.{GivenPositions, ListedStream, Parallel}
import io.github.kinesisspark.read.plan.HistoryRange
import io.github.kinesisspark.read.reader.DataLoss
import io.github.kinesisspark.position.ShardPosition._

/** One stream as it is at one moment, for reads that begin and end: positions in its shards, and what is between them. */
final class StreamHistory(stream: ListedStream) {
  import GivenPositions.GivenTime
  import stream.clients.runtime
  import stream.{ends, failOnDataLoss}

  private val log = LoggerFactory.getLogger(classOf[StreamHistory])

  val now: Long = stream.serviceTime()

  private val lineage    = stream.lineage
  private val givenStart = new GivenPositions("startingPosition", stream)
  private val givenEnd   = new GivenPositions("endingPosition", stream)

  /** Of all shards that are known. */
  val hashKeys: Map[ShardKey, HashKeyRange] =
    stream.hashKeys(lineage.inOrder.toSet).map { case (id, keys) => ShardKey(stream.arn, id) -> keys }

  /** What is between two positions, each shard's slice to the record.
    *
    * @throws OptionException  where there is nothing to begin with at the first one
    * @throws OffsetException  where the positions aren't this stream's, or in the wrong order
    * @throws io.github.kinesisspark.aws.KinesisException `KINESIS_DATA_LOSS` where they are past its retention, and `failOnDataLoss` is true
    */
  def between(from: StartingPosition, to: StartingPosition): Vector[BatchSnapshot.Slice] = {
    val end   = givenEnd.end(to, now)
    val begin = initialPositions(from)
    val found = HistoryRange.between(lineage, begin.toMap, end.toMap).fold(shards => refuseOrder(shards), identity)
    val gone  = stream.gone(found.unlisted)
    reportLost(gone.toVector.sorted)
    val left   = exactly(from, to, found.pieces.filterNot(piece => gone(piece.shardId)))
    val slices = Parallel.map(left)(piece => stream.unlessGone(piece.shardId)(slice(piece)))
    // What is past retention is not missed before the end, where the read begins with the oldest records there are.
    val starts                     = begin.toMap
    def beginsAtOldest(id: String) = (lineage.ancestors(Seq(id)) + id).forall(starts.get(_).forall(_ == TrimHorizon))
    val lost                       = left.zip(slices).collect {
      case (piece, None) if !beginsAtOldest(piece.shardId) || piece.end.record.isDefined => piece.shardId
    }
    reportLost(lost)
    val (reversed, read) = slices.flatten.partitionMap(identity)
    if (reversed.nonEmpty) refuseOrder(reversed)
    read.flatten
  }

  private def reportLost(shardIds: Vector[String]): Unit = if (shardIds.nonEmpty)
    DataLoss.ofPositions(
      s"${shardIds.mkString(", ")} of ${stream.arn} are past its retention, so that records up to 'endingPosition' are lost",
      failOnDataLoss,
      log
    )

  /** The pieces, where positions were given for single shards: their times are looked at, and their ends are made exact. What was
    * given for shards in which nothing is to be read doesn't matter: an idle shard of an offset is at an old time for long.
    */
  private def exactly(
      from: StartingPosition,
      to: StartingPosition,
      pieces: Vector[HistoryRange.Piece]
  ): Vector[HistoryRange.Piece] = {
    from match {
      case _: StartingPosition.Shards => givenStart.checkStart(timesOf(pieces)(_.start), now)
      case _                          => ()
    }
    to match {
      case asked: StartingPosition.Shards =>
        givenEnd.checkKept(timesOf(pieces)(_.end), now)
        givenEnd.upTo(asked, pieces, now)
      case _ => pieces
    }
  }

  private def timesOf(pieces: Vector[HistoryRange.Piece])(
      side: HistoryRange.Piece => ShardPosition
  ): Vector[GivenTime] =
    pieces.map(p => p.shardId -> side(p)).collect { case (id, AtTimestamp(time)) => GivenTime(time, Some(id)) }

  private def initialPositions(position: StartingPosition): Vector[(String, ShardPosition)] = position match {
    case StartingPosition.TrimHorizon    => lineage.roots.map(_ -> TrimHorizon)
    case StartingPosition.AtTimestamp(t) =>
      givenStart.checkStart(Vector(GivenTime(t.toEpochMilli)), now)
      stream.openAt(t.toEpochMilli.min(now)).map(_ -> AtTimestamp(t.toEpochMilli))
    case StartingPosition.Latest =>
      throw new OptionException(
        Seq(
          "'startingPosition' is LATEST, with which a batch read has nothing to read. Give an earlier one, or leave it out for TRIM_HORIZON."
        )
      )
    case asked: StartingPosition.Shards => givenStart.begin(asked)
  }

  /** What is between the two positions of a shard. An end at a time is a record when it is found, and only then may turn out to come
    * before a start that people gave to the record.
    *
    * @return the shard, if that is so; nothing, if there is nothing between them
    */
  private def slice(piece: HistoryRange.Piece): Either[String, Option[BatchSnapshot.Slice]] = {
    val shard = ShardKey(stream.arn, piece.shardId)
    val first = ends.first(shard, piece.start)
    // The oldest record is another one an hour later: the one it is now says where to begin, and is missed when it is gone.
    val start = piece.start match {
      case TrimHorizon | AtTimestamp(_)                  => first.fold(piece.end)(r => AtSequenceNumber(r.number))
      case AfterSequenceNumber(_)                        => first.fold(piece.start)(r => AtSequenceNumber(r.number))
      case AtSequenceNumber(_) | Within(_, _) | ShardEnd => piece.start
    }
    // An end at a number says that the shard has had records, unless it is an offset's: that may be no record's number.
    if (
      piece.start == TrimHorizon && first.isEmpty && piece.end.record.nonEmpty &&
      givenEnd.mayHaveLost(now)
    )
      log.warn(s"what comes before 'endingPosition' in $shard, if there was anything, is past the stream's retention")
    if (piece.start == TrimHorizon && piece.end.isBefore(start))
      DataLoss.ofPositions(
        s"what comes before 'endingPosition' in $shard is past the stream's retention",
        failOnDataLoss,
        log
      )
    if (start == piece.end || piece.end.isBefore(start)) Right(None)
    else {
      val extent = givenEnd.exactly(shard, start, piece.end, now)
      if (extent.end.isBefore(piece.start)) Left(piece.shardId)
      else if (start == extent.end || extent.end.isBefore(start)) Right(None)
      else {
        val range = ShardRange(shard, start, extent.end)
        Right(Some(BatchSnapshot.Slice(range, first.map(_.arrivalMillis), extent.newest, extent.size)))
      }
    }
  }

  private def refuseOrder(shards: Vector[String]) = throw new OffsetException(
    s"'endingPosition' comes before 'startingPosition' in ${shards.map(s => s"${stream.arn}/$s").mkString(", ")}. Swap them, " +
      "or give a later end."
  )
}
