package io.github.kinesisspark.read.row

import java.time.Instant

import org.apache.spark.sql.connector.expressions.{Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.{And, Predicate}
import org.apache.spark.sql.types.{StringType, TimestampType}

/** What of a query's filter says which shards and which times are of no use to it. Never more than the filter says.
  * User records of an aggregated one share its stream, shard and time, so what is said of those holds for each of them.
  *
  * @param from    earlier arrivals are of no use, in ms; and
  * @param until   later ones
  * @param streams names; nothing for all
  * @param shards  ids; nothing for all
  */
final case class RowFilter(
    from: Option[Long],
    until: Option[Long],
    streams: Option[Set[String]],
    shards: Option[Set[String]]
) {

  def and(other: RowFilter): RowFilter = RowFilter(
    (from ++ other.from).maxOption,
    (until ++ other.until).minOption,
    RowFilter.both(streams, other.streams),
    RowFilter.both(shards, other.shards)
  )

  def lets(stream: String, shard: String): Boolean = streams.forall(_(stream)) && shards.forall(_(shard))

  override def toString: String = (
    from.map(t => s"arrived from ${Instant.ofEpochMilli(t)}") ++ until.map(t => s"until ${Instant.ofEpochMilli(t)}") ++
      streams.map(s => s"streams ${s.toSeq.sorted.mkString(" ")}") ++ shards.map(s =>
        s"shards ${s.toSeq.sorted.mkString(" ")}"
      )
  ).mkString(", ")
}

object RowFilter {
  val all: RowFilter = RowFilter(None, None, None, None)

  def of(predicates: Seq[Predicate]): RowFilter = predicates.flatMap(read).foldLeft(all)(_ and _)

  def isOfUse(predicate: Predicate): Boolean = read(predicate).nonEmpty

  private def read(predicate: Predicate): Option[RowFilter] = predicate match {
    case and: And => Seq(and.left, and.right).flatMap(read(_)).reduceOption(_ and _)
    case _        =>
      (predicate.name, predicate.children) match {
        case (comparison, Array(Column(name), value: Literal[_])) => compare(name, comparison, value)
        case (comparison, Array(value: Literal[_], Column(name))) => compare(name, mirrored(comparison), value)
        case ("IN", Array(Column(name), values @ _*))             =>
          val literals = values.collect { case value: Literal[_] => value }
          if (literals.size == values.size) among(name, literals) else None
        case _ => None
      }
  }

  private def compare(column: String, comparison: String, value: Literal[_]): Option[RowFilter] =
    (column, comparison, value.value) match {
      case ("approximateArrivalTimestamp", _, micros: Long) if value.dataType == TimestampType =>
        val (early, late) = (Math.floorDiv(micros, 1000L), -Math.floorDiv(-micros, 1000L))
        comparison match {
          case ">" | ">="  => Some(all.copy(from = Some(early)))
          case "<" | "<="  => Some(all.copy(until = Some(late)))
          case "=" | "<=>" => Some(all.copy(from = Some(early), until = Some(late)))
          case _           => None
        }
      case (_, "=" | "<=>", _) => among(column, Seq(value))
      case _                   => None
    }

  private def among(column: String, values: Seq[Literal[_]]): Option[RowFilter] = {
    // A null equals nothing, and these columns are never null.
    val texts = values.filter(v => v.value != null && v.dataType == StringType).map(_.value.toString).toSet
    if (values.exists(v => v.value != null && v.dataType != StringType)) None
    else
      column match {
        case "streamName" => Some(all.copy(streams = Some(texts)))
        case "shardId"    => Some(all.copy(shards = Some(texts)))
        case _            => None
      }
  }

  private def mirrored(comparison: String) = comparison match {
    case "<"   => ">"
    case "<="  => ">="
    case ">"   => "<"
    case ">="  => "<="
    case other => other
  }

  private object Column {
    def unapply(reference: NamedReference): Option[String] = reference.fieldNames match {
      case Array(name) => Some(name)
      case _           => None
    }
  }

  private def both(a: Option[Set[String]], b: Option[Set[String]]) = (a ++ b).reduceOption(_ & _)
}
