package io.github.kinesisspark.read.catalog

import java.time.Instant

import scala.concurrent.duration._

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.config.{OptionException, StartingPosition}
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.plan.HistoryRange
import io.github.kinesisspark.read.reader.DataLoss
import io.github.kinesisspark.position.ShardPosition._

/** Positions of one stream that people gave: whether they are this stream's, and still there.
  *
  * @param option by which they were given
  * @param stream has just been listed, if they are shards'
  */
final class GivenPositions(option: String, stream: ListedStream) {
  import GivenPositions._
  import stream.clients.runtime
  import stream.{ends, failOnDataLoss}

  private val log     = LoggerFactory.getLogger(classOf[GivenPositions])
  private val lineage = stream.lineage

  /** Where to begin. A shard that is gone counts as read, if that is allowed: its children are next.
    *
    * @throws OffsetException  where they are another stream's, or say nothing about some shard
    * @throws KinesisException `KINESIS_DATA_LOSS` where they are past retention, and `failOnDataLoss` is true
    */
  def begin(asked: StartingPosition.Shards): Vector[(String, ShardPosition)] = {
    val begin = positions(asked)
    // An offset is believed, as a listing may be older than it.
    val open = begin.collect {
      case (id, ShardEnd) if asked.createdMillis.isEmpty && lineage.has(id) && !lineage.isClosed(id) => id
    }
    if (open.nonEmpty)
      refuse(
        s"is SHARD_END in ${open.mkString(", ")} of ${stream.arn}, which are open and have no end yet. Give the time from which to read them " +
          "(AT_TIMESTAMP), or leave out their rows by a filter of shardId"
      )
    val unlisted = begin.collect { case (id, position) if !lineage.has(id) && position != ShardEnd => id }
    val gone     = stream.gone(unlisted)
    if (gone.nonEmpty)
      DataLoss.ofPositions(
        s"'$option' of ${stream.arn} names shards that the stream does not have: ${gone.toVector.sorted.mkString(", ")}. They are another stream's, " +
          "or past the stream's retention",
        failOnDataLoss,
        log
      )
    kept(begin.map { case (id, position) => id -> (if (gone(id)) ShardEnd else position) })
  }

  /** Where a streaming query begins: also fails for times of single shards, as [[checkStart]] does. An idle shard of an offset is at an old time
    * for long.
    *
    * @throws OptionException where a time is in the future
    */
  def beginQuery(asked: StartingPosition.Shards, now: Long): Vector[(String, ShardPosition)] = {
    val positions = begin(asked)
    val times     = positions.collect { case (id, AtTimestamp(time)) => GivenTime(time, Some(id)) }
    checkStart(if (asked.createdMillis.isEmpty) times else times.filter(_.millis >= oldest(now)), now)
    positions
  }

  /** Where a read of the whole stream ends in each shard. A time that is still to come means the tip: all there is.
    *
    * @throws OffsetException  where they are another stream's, or say nothing about some shard
    * @throws KinesisException as [[checkKept]]
    */
  def end(asked: StartingPosition, now: Long): Vector[(String, ShardPosition)] = asked match {
    case StartingPosition.TrimHorizon                            => lineage.roots.map(_ -> TrimHorizon)
    case StartingPosition.AtTimestamp(t) if t.toEpochMilli < now =>
      checkKept(Vector(GivenTime(t.toEpochMilli)), now)
      stream.openAt(t.toEpochMilli).map(_ -> AtTimestamp(t.toEpochMilli))
    // Of a time within the service's present second, there may be records before and after it.
    case StartingPosition.AtTimestamp(t) =>
      awaitPresent(Vector(GivenTime(t.toEpochMilli)), now)
      lineage.open.map(_ -> AtTimestamp(t.toEpochMilli))
    case StartingPosition.Latest        => lineage.open.map(_ -> AtTimestamp(Long.MaxValue))
    case asked: StartingPosition.Shards => positions(asked)
  }

  /** The sequence number in each shard that a position of the whole stream stands for.
    *
    * @throws KinesisException `KINESIS_DATA_LOSS` where a shard is gone, and `failOnDataLoss` is true; others as [[end]]
    */
  def exact(asked: StartingPosition, now: Long): Vector[(String, ShardPosition)] = {
    val all   = end(asked, now)
    val found = Parallel.map(all) { case (id, to) =>
      stream.unlessGone(id)(exactly(ShardKey(stream.arn, id), TrimHorizon, to, now).end)
    }
    val ids  = all.map(_._1)
    val lost = ids.zip(found).collect { case (id, None) => id }
    if (lost.nonEmpty)
      DataLoss.ofPositions(
        s"${lost.mkString(", ")} of ${stream.arn} are past its retention, so that records after the position are lost",
        failOnDataLoss,
        log
      )
    ids.zip(found.map(_.getOrElse(ShardEnd)))
  }

  /** Where a shard ends, to the record. */
  def exactly(shard: ShardKey, from: ShardPosition, to: ShardPosition, now: Long): ShardEnds.Extent = to match {
    case AtTimestamp(time) => ends.at(shard, from, time, now)
    case exact             => ShardEnds.Extent(exact, None)
  }

  private def positions(asked: StartingPosition.Shards): Vector[(String, ShardPosition)] = {
    asked.stream.filter(_ != stream.arn).foreach(other => refuse(s"is of $other, not of ${stream.arn}"))
    asked.createdMillis.filter(_ != stream.createdMillis).foreach { created =>
      refuse(
        s"is of ${stream.arn} as it was created at ${Instant.ofEpochMilli(created)}; since then it was deleted and created again " +
          s"(at ${Instant.ofEpochMilli(stream.createdMillis)})"
      )
    }
    val uncovered = HistoryRange.uncovered(lineage, asked.shards)
    if (uncovered.nonEmpty)
      refuse(
        s"says nothing about ${uncovered.mkString(", ")} of ${stream.arn}, nor about their parents or children. Add them (TRIM_HORIZON " +
          "is a shard's beginning, SHARD_END a closed one's end), or check that the shards are this stream's"
      )
    asked.shards.toVector.sortBy(_._1)
  }

  /** Fails if a read can't begin at these times, because the service has not reached one of them or [[checkKept]] fails.
    *
    * @param now in ms by the service's clock
    * @throws OptionException  where one is in the future
    * @throws KinesisException as [[checkKept]]
    */
  def checkStart(times: Vector[GivenTime], now: Long): Unit = {
    val future = times.filter(time => ShardEnds.isFuture(time.millis, now))
    if (future.nonEmpty)
      throw new OptionException(
        Seq(
          s"'$option' (${future.mkString(", ")}) is in the future: it is ${Instant.ofEpochMilli(now)} by the clock of ${stream.arn}. Give " +
            "an earlier time, or LATEST."
        )
      )
    checkKept(times, now)
    awaitPresent(times, now)
  }

  /** Waits where one of these times is in the service's present second: it refuses a time that has not come. What is later than that is left out. */
  def awaitPresent(times: Vector[GivenTime], now: Long): Unit = {
    val present = times.map(_.millis).filterNot(ShardEnds.isFuture(_, now))
    present.maxOption.filter(_ > now).foreach(latest => runtime.waits.sleep((latest - now).millis))
  }

  /** Fails, or warns, if the stream may have lost records that came after one of these times. A stream that is younger than its retention has
    * lost none.
    *
    * @param now in ms by the service's clock
    * @throws KinesisException `KINESIS_DATA_LOSS` where one is past the stream's retention, and `failOnDataLoss` is true
    */
  def checkKept(times: Vector[GivenTime], now: Long): Unit = {
    val past = times.filter(_.millis < oldest(now))
    if (past.nonEmpty && mayHaveLost(now))
      DataLoss.ofPositions(
        s"'$option' (${past.mkString(", ")}) is past the retention of ${stream.arn}, which keeps ${stream.retention.toHours} hours",
        failOnDataLoss,
        log
      )
  }

  /** Whether the stream is older than its retention, so that records may have gone. */
  def mayHaveLost(now: Long): Boolean = stream.createdMillis < oldest(now)

  private def oldest(now: Long) = now - stream.retention.toMillis

  /** The pieces of a read that ends at these positions, each up to an end that a reader knows when it is there: a number that is
    * given by hand must be a record's.
    *
    * Refused is what certainly is none's: the service doesn't take it for a number of the shard, or the shard holds older records,
    * and so would hold this one. A number that is older than all that is left may be past retention, which reading finds out. An
    * offset is believed: all it has of what a query has read are records' numbers, but a query that was begun at another number,
    * such as a continuation of fan-out, is there until a record comes. An end like that is before the next record.
    *
    * @param now by the service's clock, in ms
    * @throws OffsetException where they are no records' numbers
    */
  def upTo(
      asked: StartingPosition.Shards,
      pieces: Vector[HistoryRange.Piece],
      now: Long
  ): Vector[HistoryRange.Piece] = {
    val isOffset       = asked.createdMillis.nonEmpty
    val (wrong, right) = Parallel
      .map(pieces) { piece =>
        val shard = ShardKey(stream.arn, piece.shardId)
        // Reading finds out that one is gone.
        stream
          .unlessGone(piece.shardId) {
            piece.end.record.filter(isNoRecord(shard, _)) match {
              case None                     => Right(piece)
              case Some(number) if isOffset => Right(piece.copy(end = before(shard, piece.start, number, now)))
              case Some(number)             => Left(s"${piece.shardId} at $number")
            }
          }
          .getOrElse(Right(piece))
      }
      .partitionMap(identity)
    if (wrong.nonEmpty)
      refuse(
        s"names numbers that are no records' in their shards of ${stream.arn}: ${wrong.mkString(", ")}. Give the sequence numbers " +
          "of records, each for the shard that has it"
      )
    right
  }

  /** The end of a shard's records that come before a number that is none's. */
  private def before(shard: ShardKey, from: ShardPosition, number: SequenceNumber, now: Long) = {
    // In this order: what comes in after the first look comes after the number as well, and is found by the second.
    val tip = ends.tip(shard, from, now).end
    ends.first(shard, AtSequenceNumber(number)).fold(tip)(next => AtSequenceNumber(next.number))
  }

  private def isNoRecord(shard: ShardKey, number: SequenceNumber) =
    try !isRecord(shard, number) && ends.first(shard, TrimHorizon).exists(_.number < number)
    // A number that another shard has given out, or none at all.
    catch { case e: KinesisException if e.reason == FailureReason.InvalidArgument => true }

  private def isRecord(shard: ShardKey, number: SequenceNumber) =
    ends.first(shard, AtSequenceNumber(number)).exists(_.number == number)

  /** Kinesis takes a number that is past retention for the oldest record. A number that is no record's, as a continuation of fan-out
    * is none's, is believed as long as nothing older than it was removed. What follows it is read then, as no reader would find it. A shard that is
    * gone counts as read.
    */
  private def kept(positions: Vector[(String, ShardPosition)]): Vector[(String, ShardPosition)] = {
    val (lost, all) = Parallel
      .map(positions) { case (id, position) =>
        val (lost, found) = position.record.fold((Option.empty[String], position))(kept(id, position, _))
        lost -> (id -> found)
      }
      .unzip
    if (lost.exists(_.nonEmpty))
      DataLoss.ofPositions(
        s"'$option' is past the retention of ${stream.arn}, so that records after it may be lost: ${lost.flatten.mkString(", ")}",
        failOnDataLoss,
        log
      )
    all
  }

  /** @param number of the position
    * @return the number, if records after it may be lost; and where to begin
    */
  private def kept(id: String, position: ShardPosition, number: SequenceNumber): (Option[String], ShardPosition) = {
    val shard = ShardKey(stream.arn, id)
    val named = s"$id at $number"
    stream
      .unlessGone[(Option[String], ShardPosition)](id) {
        if (isRecord(shard, number)) (None, position)
        else {
          val isLost = ends.first(shard, TrimHorizon).exists(_.number > number)
          (Option.when(isLost)(named), AfterSequenceNumber(number))
        }
      }
      .getOrElse((Some(named), ShardEnd))
  }

  private def refuse(what: String) = throw new OffsetException(s"'$option' $what.")
}

object GivenPositions {

  /** @param shard for which the time was given; none if it is for the whole stream */
  final case class GivenTime(millis: Long, shard: Option[String] = None) {
    override def toString: String = shard.fold("")(id => s"$id at ") + Instant.ofEpochMilli(millis).toString
  }
}
