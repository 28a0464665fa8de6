package io.github.kinesisspark.simulation

import scala.collection.mutable

import io.github.kinesisspark.read.reader.ReadersInside

/** What worlds have come through: pairs of a state and an event, and faults by the state that they struck.
  *
  * The state of an event about a shard is that of its reader with that of the batch; of another event, that of the batch.
  */
final class Coverage {
  private val all      = mutable.HashMap.empty[String, Int]
  private val byReader = mutable.HashMap.empty[(String, String), Int]
  private val byBatch  = mutable.HashMap.empty[(String, String), Int]

  def pairs: collection.Set[String] = all.keySet

  private[simulation] def happened(state: String, event: String): Unit = {
    val pair = s"$state: $event"
    all(pair) = all.getOrElse(pair, 0) + 1
  }

  private[simulation] def struck(kind: String, readers: Iterable[String], batches: Iterable[String]): Unit = {
    readers.foreach(state => byReader((kind, state)) = byReader.getOrElse((kind, state), 0) + 1)
    batches.foreach(state => byBatch((kind, state)) = byBatch.getOrElse((kind, state), 0) + 1)
  }

  /** @return how many pairs are new */
  def add(other: Coverage): Int = {
    val before = all.size
    other.all.foreach { case (pair, times) => all(pair) = all.getOrElse(pair, 0) + times }
    other.byReader.foreach { case (cell, times) => byReader(cell) = byReader.getOrElse(cell, 0) + times }
    other.byBatch.foreach { case (cell, times) => byBatch(cell) = byBatch.getOrElse(cell, 0) + times }
    all.size - before
  }

  /** Faults by the state of a reader and of a batch. */
  def matrix: String =
    table("Faults by the state of readers", Coverage.ofReaders, byReader) + "\n" + table(
      "Faults by the state of a batch",
      Coverage.ofBatches,
      byBatch
    )

  private def table(title: String, columns: Seq[String], cells: collection.Map[(String, String), Int]) = {
    val head  = columns.map(c => f"${c.takeRight(9)}%9s").mkString
    val kinds = Strike.Kind.all.map(_.toString)
    val lines = kinds.map(kind => f"$kind%-19s" + columns.map(c => f"${cells.getOrElse((kind, c), 0)}%9d").mkString)
    val all   = for (kind <- kinds; column <- columns if Coverage.isPossible(kind, column)) yield (kind, column)
    val empty = all.filterNot(cells.contains).map { case (kind, column) => s"$kind in $column" }
    (Seq(title, " " * 19 + head) ++ lines :+ s"Empty: ${empty.size} of ${all.size} that can be" :+ empty.mkString(
      "  ",
      ", ",
      ""
    )).mkString("\n")
  }
}

object Coverage {
  val ways: Vector[String]      = Vector("polling", "fan-out")
  val ofReaders: Vector[String] = ways.flatMap(way => ReadersInside.States.map(state => s"$way $state"))
  val ofBatches: Vector[String] = Phase.all.map(_.toString)
  val states: Vector[String]    = ofReaders ++ ofBatches

  /** A fault of consumers and their subscriptions strikes no reader that polls. */
  private val OfFanOut = Set("EndSubscriptions", "TakeOver", "LoseConsumers")

  private def isPossible(kind: String, state: String) = !(OfFanOut(kind) && state.startsWith("polling"))
}

/** Where a query is. */
sealed trait Phase extends Product with Serializable

object Phase {
  case object Starting   extends Phase
  case object Planning   extends Phase
  case object Logged     extends Phase
  case object Running    extends Phase
  case object Committing extends Phase
  case object Waiting    extends Phase
  case object Stopping   extends Phase

  val all: Vector[Phase] = Vector(Starting, Planning, Logged, Running, Committing, Waiting, Stopping)
}
