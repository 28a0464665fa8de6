package io.github.kinesisspark.config

import java.time.Instant
import java.time.format.{DateTimeFormatter, DateTimeParseException}

import scala.util.control.NonFatal

import io.github.kinesisspark.position.{OffsetException, OffsetJson, ShardPosition, StreamArn}

/** What `startingPosition` and `endingPosition` say: one place for every stream, or places for each.
  *
  * {{{
  * LATEST | TRIM_HORIZON | AT_TIMESTAMP:<time>
  * {"orders": "TRIM_HORIZON", "payments": {"shardId-000000000000": "<position>", ...}}    streams by name or ARN
  * {"version": 1, "streams": {"arn:aws:kinesis:...": {...}}}                              an offset of a query
  * }}}
  * A shard's position is `TRIM_HORIZON`, `AT_TIMESTAMP:<time>`, `AT_SEQUENCE_NUMBER:<n>`, `<n>` (what follows that record) or
  * `SHARD_END`, as in offsets. What contradicts what is decided by [[SourceOptionsParser]].
  */
sealed trait PositionValue extends Product with Serializable

object PositionValue {
  final case class Same(position: StartingPosition) extends PositionValue

  /** @param streams by name or ARN, as written */
  final case class Each(streams: Map[String, StartingPosition]) extends PositionValue

  val kind: OptionKind[PositionValue] = OptionKind("position", parse)

  def parse(value: String): Either[String, PositionValue] =
    if (value.startsWith("{")) json(value).left.map(why => s"JSON of positions by stream and shard: $why")
    else word(value).map(Same(_)).left.map(must => s"$must, or JSON of positions by stream and shard")

  private val AtTimestamp = """(?i)AT_TIMESTAMP\s*:\s*(.*)""".r
  private val Words       = "LATEST, TRIM_HORIZON or AT_TIMESTAMP:<time>"
  private val Time        =
    "AT_TIMESTAMP:<time>, the time being ISO-8601 with an offset (2026-01-31T08:00:00Z) or milliseconds since 1970 (UTC)"

  private def word(value: String): Either[String, StartingPosition] = value match {
    case word if word.equalsIgnoreCase("LATEST")       => Right(StartingPosition.Latest)
    case word if word.equalsIgnoreCase("TRIM_HORIZON") => Right(StartingPosition.TrimHorizon)
    case AtTimestamp(time) => instant(time).map(StartingPosition.AtTimestamp(_)).toRight(Time)
    case _                 => Left(Words)
  }

  private def json(value: String): Either[String, PositionValue] =
    try {
      val root = ujson.read(value).obj
      if (root.get("version").exists(_.numOpt.isDefined)) Right(offset(value))
      else Right(Each(root.map { case (stream, given) => stream -> ofStream(stream, given) }.toMap))
    } catch {
      case e: Refused         => Left(e.getMessage)
      case e: OffsetException => Left(e.getMessage)
      case NonFatal(e)        => Left(s"it can't be read (${e.getMessage})")
    }

  private def offset(value: String): PositionValue = Each(OffsetJson.read(value).streams.map { case (arn, stream) =>
    val shards = stream.shards.iterator.map { case (id, progress) => id -> progress.position }.toMap
    arn.text -> StartingPosition.Shards(Some(arn), Some(stream.createdMillis), shards, stream.completeTo)
  })

  private def ofStream(stream: String, value: ujson.Value): StartingPosition = value match {
    case ujson.Str(text) => word(text).fold(must => throw new Refused(s"'$stream' must be $must"), identity)
    case ujson.Obj(each) if each.nonEmpty =>
      val shards = each.map { case (id, position) => id -> ofShard(s"'$id' of '$stream'", position) }.toMap
      StartingPosition.Shards(StreamArn.parse(stream), None, shards)
    case _ => throw new Refused(s"'$stream' must be $Words, or an object of its shards' positions")
  }

  private def ofShard(where: String, value: ujson.Value): ShardPosition = value match {
    case ujson.Str(AtTimestamp(time)) =>
      instant(time).fold(throw new Refused(s"$where must be $Time"))(t => ShardPosition.AtTimestamp(t.toEpochMilli))
    case ujson.Str(text) => ShardPosition.decode(text).fold(why => throw new Refused(s"$where: $why"), identity)
    case _               => throw new Refused(s"$where must be a text")
  }

  private[config] def instant(text: String): Option[Instant] =
    if (text.nonEmpty && text.forall(_.isDigit)) text.toLongOption.map(Instant.ofEpochMilli(_))
    else
      try Some(Instant.from(DateTimeFormatter.ISO_OFFSET_DATE_TIME.parse(text))).filter(_.toEpochMilli >= 0)
      catch { case _: DateTimeParseException | _: ArithmeticException => None }

  private final class Refused(message: String) extends RuntimeException(message)
}
