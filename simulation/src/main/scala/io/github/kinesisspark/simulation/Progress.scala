package io.github.kinesisspark.simulation

import scala.concurrent.duration._

import io.github.kinesisspark.runtime.Waits

/** The lock under which Spark plans a run of a query, and who waits in `processAllAvailable()`: for that lock first, and then until a planning has found
  * nothing new.
  *
  * @see [[https://spark.apache.org/docs/latest/api/java/org/apache/spark/sql/streaming/StreamingQuery.html StreamingQuery.processAllAvailable]]
  */
final class Progress(waits: Waits) {
  private var isLocked     = false
  private var isNothingNew = false
  private var isOver       = false
  private var waiting      = 0

  def isWaitedFor: Boolean = waiting > 0

  /** Whether somebody waits, as the thread sees it that plans. */
  def showsCallers: Boolean = isLocked && isWaitedFor

  def locked[A](work: => A): A = {
    isLocked = true
    try work
    finally change { isLocked = false }
  }

  /** A planning has ended, under the lock. */
  def planned(isNew: Boolean): Unit = change { isNothingNew = !isNew }

  /** The run is over. */
  def end(): Unit = change { isOver = true }

  /** Whether a planning has found nothing new since the call; otherwise the run is over. */
  def processAllAvailable(): Boolean = synchronized {
    waiting += 1
    try {
      await(!isLocked)
      isNothingNew = false
      await(!isLocked && (isNothingNew || isOver))
      isNothingNew
    } finally waiting -= 1
  }

  private def await(isSo: => Boolean): Unit = waits.until(this, 1.day)(isSo): Unit

  private def change(work: => Unit): Unit = synchronized {
    work
    waits.signal(this)
  }
}

object Progress {

  /** Of no run. */
  def over(waits: Waits): Progress = {
    val made = new Progress(waits)
    made.end()
    made
  }
}
