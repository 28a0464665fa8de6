package io.github.kinesisspark.runtime

import scala.collection.mutable
import scala.concurrent.duration._

import org.slf4j.Logger

/** Log lines of which many may come at once: one of each shard, or one of each attempt of a call.
  *
  * The first of a kind is logged at once. Those that follow are counted, and once a minute the last of them is logged, with the count, until a minute has
  * passed without any. So a process logs at most one line a minute of each kind, and says how many it left out. Thread-safe; nothing is logged under a
  * lock.
  */
final class RepeatedLines(timers: => Worker) {
  import RepeatedLines._

  // Guarded by `this`.
  private val open = mutable.HashMap.empty[Kind, Unsaid]

  /** @param kind  the event and its stream, without what differs from line to line
    * @param place the shard, or whatever the line is about
    */
  def warn(log: Logger, kind: String, place: Any)(line: => String): Unit =
    if (log.isWarnEnabled) add(Kind(log.getName, kind), place, line, text => log.warn(text))

  def info(log: Logger, kind: String, place: Any)(line: => String): Unit =
    if (log.isInfoEnabled) add(Kind(log.getName, kind), place, line, text => log.info(text))

  private def add(kind: Kind, place: Any, line: String, write: String => Unit): Unit = {
    val isFirst = synchronized {
      val before = open.get(kind)
      open += kind -> before.fold(Unsaid.none)(_.and(place, line))
      before.isEmpty
    }
    if (isFirst) {
      later(kind, write)
      write(line)
    }
  }

  private def later(kind: Kind, write: String => Unit): Unit = timers.schedule(Pause.toNanos) {
    val unsaid = synchronized {
      val unsaid = open(kind)
      if (unsaid.count == 0) open -= kind else open += kind -> Unsaid.none
      unsaid
    }
    if (unsaid.count > 0) {
      later(kind, write)
      write(s"${unsaid.last} repeated=${unsaid.count} places=${unsaid.places.size} seconds=${Pause.toSeconds}")
    }
  }: Unit
}

private object RepeatedLines {
  private[runtime] val Pause = 1.minute

  private final case class Kind(log: String, name: String)

  /** What came since the last line. */
  private final case class Unsaid(count: Long, places: Set[Any], last: String) {
    def and(place: Any, line: String): Unsaid = Unsaid(count + 1, places + place, line)
  }

  private object Unsaid {
    val none: Unsaid = Unsaid(0, Set.empty, "")
  }
}
