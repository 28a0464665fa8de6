package io.github.kinesisspark.simulation

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.github.kinesisspark.read.reader.ReadersInside

/** What worlds have come through: pairs of a state and an event, and faults by the state that they struck.
  *
  * The state of an event about a shard is that of its reader with that of the batch of the reader's query; of another event, that of the batch. An event in
  * a process with more than one query counts for each.
  */
final class Coverage {
  private val all      = mutable.HashMap.empty[(String, String), Int]
  private val byReader = mutable.HashMap.empty[(String, String), Int]
  private val byBatch  = mutable.HashMap.empty[(String, String), Int]

  /** How many. */
  def pairs: Int = all.size

  private[simulation] def happened(state: String, event: String): Unit =
    count(all, (state, event))

  private[simulation] def struck(kind: String, readers: Iterable[String], batches: Iterable[String]): Unit = {
    readers.foreach(state => count(byReader, (kind, state)))
    batches.foreach(state => count(byBatch, (kind, state)))
  }

  /** @return how many pairs are new */
  def add(other: Coverage): Int = {
    val before = all.size
    for ((mine, its) <- tables.zip(other.tables); (cell, times) <- its) count(mine, cell, times)
    all.size - before
  }

  private def tables = Vector(all, byReader, byBatch)

  private def count(cells: mutable.Map[(String, String), Int], cell: (String, String), times: Int = 1): Unit =
    cells(cell) = cells.getOrElse(cell, 0) + times

  /** Adds what [[save]] has written, also by several runs one after the other. */
  def load(file: Path): Unit = Files.readAllLines(file).asScala.map(_.split("\t")).foreach {
    case Array(table, times, state, event) => count(tables(table.toInt), (state, event), times.toInt)
    case other                             =>
      throw new IllegalArgumentException(
        s"$file wasn't written by an earlier run, as it has the line '${other.mkString(" ")}': give another file, or remove it"
      )
  }

  /** A line for each cell: the number of its table, how often it was reached, and its names. */
  def save(file: Path): Unit = Files.write(
    file,
    (for ((cells, table) <- tables.zipWithIndex; ((state, event), times) <- cells.toVector.sorted)
      yield s"$table\t$times\t$state\t$event").asJava
  ): Unit

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

  /** How a reader's state is named. */
  def ofReader(isFanOut: Boolean, state: String): String = s"${if (isFanOut) "fan-out" else "polling"} $state"

  /** These states, of readers that poll and of those by fan-out. */
  def ofBoth(states: Seq[String]): Vector[String] =
    Vector(false, true).flatMap(isFanOut => states.map(ofReader(isFanOut, _)))

  val ofReaders: Vector[String] = ofBoth(ReadersInside.States)
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
