package io.github.kinesisspark.testkit.subscription

import io.github.kinesisspark.testkit.{MovableClock, ServiceClock}

import org.slf4j.LoggerFactory

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent._
import scala.util.control.NonFatal

/** Runs things now, or when the service's clock has come to a time: by itself on a clock that runs, and after a move on
  * one that a test moves. A few threads do it all, however much there is to do; nothing in it may block.
  */
final private[testkit] class Timetable(clock: ServiceClock) extends Executor with AutoCloseable {
  import Timetable._

  private val threads = {
    // What comes after the end is dropped.
    val made = new ScheduledThreadPoolExecutor(Threads, newThread(_), new ThreadPoolExecutor.DiscardPolicy)
    made.setRemoveOnCancelPolicy(true)
    made
  }
  private val alarms               = ConcurrentHashMap.newKeySet[Alarm]
  private val moves: AutoCloseable = clock match {
    case movable: MovableClock => movable.onMove(() => alarms.forEach(_.moved()))
    case _                     => () => ()
  }

  override def execute(task: Runnable): Unit = threads.execute(guarded(task))

  /** Runs it once, at that time of the clock or soon after; at once if that has passed.
    *
    * @param millis milliseconds since the epoch
    */
  def at(millis: Long)(task: Runnable): Alarm = {
    val alarm = new Alarm(millis, guarded(task))
    alarms.add(alarm)
    alarm.moved()
    alarm
  }

  override def close(): Unit = {
    moves.close()
    threads.shutdownNow()
    alarms.clear()
  }

  /** Something to be done at a time. */
  final class Alarm private[Timetable] (val millis: Long, task: Runnable) {
    @volatile private var timer: Option[Future[_]] = None

    /** The clock may have come to another time. */
    private[Timetable] def moved(): Unit = synchronized {
      timer.foreach(_.cancel(false))
      val left = millis - clock.millis
      if (left <= 0) ring()
      else if (clock.runs && isSet) {
        val ringing: Runnable = () => moved()
        timer = Some(threads.schedule(ringing, left, TimeUnit.MILLISECONDS))
      }
    }
    private def ring(): Unit = if (alarms.remove(this)) threads.execute(task)

    /** Whether it is still to ring. */
    def isSet: Boolean = alarms.contains(this)

    def cancel(): Unit = { alarms.remove(this); timer.foreach(_.cancel(false)) }
  }
}

private[testkit] object Timetable {
  private val Threads = 2
  private val log     = LoggerFactory.getLogger(classOf[Timetable])
  private val made    = new AtomicInteger

  private def newThread(task: Runnable): Thread = {
    val thread = new Thread(task, s"kinesis-testkit-events-${made.incrementAndGet()}")
    thread.setDaemon(true)
    thread
  }

  private def guarded(task: Runnable): Runnable = () =>
    try task.run()
    catch { case NonFatal(e) => log.error("A subscription's task failed", e) }
}
