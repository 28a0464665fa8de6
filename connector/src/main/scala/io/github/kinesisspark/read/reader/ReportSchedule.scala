package io.github.kinesisspark.read.reader

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.reader.ReportSchedule._
import io.github.kinesisspark.runtime.{Runtime, Timer, Worker}

/** When the readers of one source report to the driver: at once after news, but not before a pause after the last report is over, and later after
  * changes that nobody waits for. One report is on its way at a time, with what has changed since the one before. One that the driver doesn't accept, or
  * that may be lost, is followed by a report of all readers.
  *
  * Called from any thread; reports are made and sent on a worker where nobody waits for them. Nothing blocks.
  *
  * @param send a report of the shards that have changed, or of all; whether the driver could make use of it
  */
private[reader] final class ReportSchedule(worker: Worker, send: What => Future[Boolean])(implicit
    runtime: Runtime
) extends AutoCloseable {
  private val log = LoggerFactory.getLogger(classOf[ReportSchedule])

  // All below is guarded by `this`.
  private var changed        = mutable.LinkedHashSet.empty[ShardKey]
  private var hasChanged     = false
  private var hasNews        = false
  private var isOfAllReaders = true
  private var isUnderWay     = false
  private var closed         = false
  private var pauseNanos     = 0L
  private var refused        = 0
  private var ended          = runtime.clock.nanos() - LongPause.toNanos
  private var next           = Option.empty[(Long, Timer)]

  /** How far two reports lie apart at least. */
  def setPause(pause: FiniteDuration): Unit = synchronized { pauseNanos = pause.toNanos }

  /** @param isNews the driver may wait for it */
  def change(shards: Iterable[ShardKey], isNews: Boolean): Unit = synchronized {
    changed ++= shards
    hasChanged = true
    hasNews ||= isNews
    schedule()
  }

  /** The driver waits for a report of where the readers are: one that goes along with an answer. Nothing where another is on its way: then it
    * follows that one. The driver asks for all readers where it can't make use of an answer.
    *
    * @param make may throw: then the next report is one of all readers
    */
  def take[A](make: What => A): Option[A] = {
    val own = synchronized {
      next.foreach(_._2.cancel())
      hasChanged = true
      hasNews = true
      begin()
    }
    own.map { what =>
      var isMade = false
      try {
        val made = make(what)
        isMade = true
        made
      } finally reported(isMade)
    }
  }

  /** The next report is one of all readers. */
  def changeAll(): Unit = synchronized {
    isOfAllReaders = true
    hasNews = true
    schedule()
  }

  override def close(): Unit = synchronized {
    closed = true
    next.foreach(_._2.cancel())
  }

  private def schedule(): Unit = if (!isUnderWay && !closed) {
    val pause = if (refused > 1) LongPause.toNanos else if (hasNews) pauseNanos else QuietPause.toNanos
    val due   = ended + pause
    if (next.forall { case (scheduled, _) => scheduled - due > 0 }) {
      next.foreach(_._2.cancel())
      next = None
      val wait = (due - runtime.clock.nanos()).max(0L)
      next = Some(due -> worker.schedule(wait)(report()))
    }
  }

  private def begin(): Option[What] = synchronized {
    next = None
    if (closed || isUnderWay) None
    else {
      val what = What(changed.toVector, isOfAllReaders, hasNews || isOfAllReaders)
      changed = mutable.LinkedHashSet.empty
      isOfAllReaders = false
      hasChanged = false
      hasNews = false
      isUnderWay = true
      Some(what)
    }
  }

  private def report(): Unit =
    begin().foreach { w =>
      // An Error, too, such as an OutOfMemoryError for a large report: without an end of this one no other would follow.
      val sent =
        try send(w)
        catch { case e: Throwable => Future.failed(e) }
      sent.onComplete { done =>
        done.failed.foreach {
          case NonFatal(e) => log.debug("A report of shard readers was not sent. The next one is of all readers.", e)
          case e           => log.warn("A report of shard readers was not made. The next one is of all readers.", e)
        }
        reported(done.getOrElse(false))
      }(ExecutionContext.parasitic)
    }

  private def reported(isAccepted: Boolean): Unit = synchronized {
    isUnderWay = false
    ended = runtime.clock.nanos()
    refused = if (isAccepted) 0 else refused + 1
    isOfAllReaders ||= !isAccepted
    if (isOfAllReaders || hasChanged) schedule()
  }
}

private[reader] object ReportSchedule {

  /** What a report is about.
    *
    * @param isOfAllReaders of all readers
    * @param hasNews        the driver may wait for it
    */
  final case class What(changed: Vector[ShardKey], isOfAllReaders: Boolean, hasNews: Boolean)

  /** Until changes are reported that nobody waits for. */
  val QuietPause: FiniteDuration = 500.millis

  /** Where the driver can't be reached, or doesn't know the source. */
  private val LongPause = 1.second
}
