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
    case movable: MovableClock => movable.onMove(() => alarms.forEach(_.ringIfDue()))
    case _                     => () => ()
  }

  override def execute(task: Runnable): Unit = threads.execute(guarded(task))

  /** Runs it once, at that time of the clock or soon after; at once if that has passed. A clock that is set back may
    * have it run early.
    *
    * @param millis milliseconds since the epoch
    */
  def at(millis: Long)(task: Runnable): Alarm = {
    val alarm = new Alarm(millis, guarded(task))
    alarms.add(alarm)
    if (clock.runs) {
      val ring: Runnable = () => alarm.ring()
      alarm.planned(threads.schedule(ring, math.max(0, millis - clock.millis), TimeUnit.MILLISECONDS))
    }
    alarm.ringIfDue() // It may have been moved past just now.
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

    private[Timetable] def planned(future: Future[_]): Unit = timer = Some(future)
    private[Timetable] def ringIfDue(): Unit = if (clock.millis >= millis) { timer.foreach(_.cancel(false)); ring() }
    private[Timetable] def ring(): Unit      = if (alarms.remove(this)) threads.execute(task)

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
