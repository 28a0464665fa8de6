package io.github.kinesisspark.testkit.model

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64
import java.util.zip.CRC32
import scala.util.Try

/** Where a shard iterator stands. */
sealed trait ReadPosition {

  /** The same place for a reader that waits there: it sees all that comes, however long it takes. */
  def atTip: ReadPosition = this match {
    case ReadPosition.AtOrdinal(ordinal, _) => ReadPosition.AtOrdinal(ordinal)
    case later                              => later
  }
}
object ReadPosition {

  /** At the record of this ordinal, or the first after it.
    *
    * @param scannedTo until what time the shard was looked through; always to the tip if it is [[Tip]]
    */
  final case class AtOrdinal(ordinal: Long, scannedTo: Long = Tip) extends ReadPosition

  val Tip: Long = Long.MaxValue

  /** At the first record that arrives at this time or later: only while that time is still to come. */
  final case class AtTime(millis: Long) extends ReadPosition
}

/** What a shard iterator says. To the client it is opaque text. */
final case class ShardIterator(
    stream: String,
    streamCreatedAt: Long,
    incarnation: Int,
    shard: String,
    position: ReadPosition,
    issuedAt: Long
) {
  def isExpired(now: Long): Boolean = now - issuedAt > Quota.IteratorMillis

  def encode: String = {
    val at = position match {
      case ReadPosition.AtOrdinal(o, scannedTo) => Vector("o", s"$o", s"$scannedTo")
      case ReadPosition.AtTime(t)               => Vector("t", s"$t", "")
    }
    Token.seal(Vector("iterator", stream, s"$streamCreatedAt", s"$incarnation", shard) ++ at :+ s"$issuedAt")
  }
}

object ShardIterator {
  def decode(text: String): Option[ShardIterator] =
    Token.open(text).collect {
      case Vector("iterator", stream, created, incarnation, shard, kind, value, scannedTo, issued) =>
        val position =
          if (kind == "t") ReadPosition.AtTime(value.toLong)
          else ReadPosition.AtOrdinal(value.toLong, scannedTo.toLong)
        ShardIterator(stream, created.toLong, incarnation.toInt, shard, position, issued.toLong)
    }
}

/** What a NextToken says. */
sealed trait Page {
  def issuedAt: Long
  def isExpired(now: Long): Boolean = now - issuedAt > Quota.NextTokenMillis
}

/** What a NextToken of ListStreamConsumers says: the rest of a stream's consumers. */
final case class ConsumerPage(streamArn: String, after: String, issuedAt: Long) extends Page {
  def encode: String = Token.seal(Vector("consumers", streamArn, after, issuedAt.toString))
}

object ConsumerPage {
  def decode(text: String): Option[ConsumerPage] = Token.open(text).collect {
    case Vector("consumers", streamArn, after, issuedAt) => ConsumerPage(streamArn, after, issuedAt.toLong)
  }
}

/** What a NextToken of ListShards says: the rest of the shards that were asked for, by a filter that is kept in it.
  *
  * @param asOf when the first page was asked for
  */
final case class ShardPage(
    account: String,
    stream: String,
    filter: ShardFilter,
    after: String,
    asOf: Long,
    issuedAt: Long
) extends Page {
  def encode: String = {
    val (kind, value) = filter match {
      case ShardFilter.AtTrimHorizon    => ("AtTrimHorizon", "")
      case ShardFilter.FromTrimHorizon  => ("FromTrimHorizon", "")
      case ShardFilter.AtLatest         => ("AtLatest", "")
      case ShardFilter.AtTimestamp(t)   => ("AtTimestamp", t.toString)
      case ShardFilter.FromTimestamp(t) => ("FromTimestamp", t.toString)
      case ShardFilter.AfterShardId(id) => ("AfterShardId", id)
    }
    Token.seal(Vector("shards", account, stream, kind, value, after, asOf.toString, issuedAt.toString))
  }
}

object ShardPage {
  def decode(text: String): Option[ShardPage] = Token.open(text).flatMap {
    case Vector("shards", account, stream, kind, value, after, asOf, issuedAt) =>
      val filter = kind match {
        case "AtTrimHorizon"   => Some(ShardFilter.AtTrimHorizon)
        case "FromTrimHorizon" => Some(ShardFilter.FromTrimHorizon)
        case "AtLatest"        => Some(ShardFilter.AtLatest)
        case "AtTimestamp"     => Some(ShardFilter.AtTimestamp(value.toLong))
        case "FromTimestamp"   => Some(ShardFilter.FromTimestamp(value.toLong))
        case "AfterShardId"    => Some(ShardFilter.AfterShardId(value))
        case _                 => None
      }
      filter.map(ShardPage(account, stream, _, after, asOf.toLong, issuedAt.toLong))
    case _ => None
  }
}

/** Turns parts into opaque text and back. A checksum detects text that was never ours. */
object Token {
  // Not in any stream name, shard id or number.
  private val Separator = "\n"

  def seal(parts: Vector[String]): String = {
    val body = parts.mkString(Separator)
    Base64.getUrlEncoder.withoutPadding.encodeToString(s"${checksum(body)}$Separator$body".getBytes(UTF_8))
  }

  def open(text: String): Option[Vector[String]] = for {
    plain <- Try(new String(Base64.getUrlDecoder.decode(text), UTF_8)).toOption
    parts = plain.split(Separator, -1).toVector
    if parts.length > 1 && parts.head == checksum(plain.drop(parts.head.length + Separator.length))
  } yield parts.tail

  private def checksum(body: String): String = {
    val crc = new CRC32
    crc.update(body.getBytes(UTF_8))
    crc.getValue.toHexString
  }
}
