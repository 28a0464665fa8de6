package io.github.kinesisspark.runtime

import java.util.concurrent.{Executor, Executors, ScheduledThreadPoolExecutor, ThreadFactory}
import java.util.concurrent.TimeUnit.NANOSECONDS
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.duration.FiniteDuration

import org.slf4j.LoggerFactory

/** Makes threads, all of them daemons, with names that begin as given. */
trait Workers {

  /** So many threads, which also keep timers. The work must not block where several share them. */
  def fixed(name: String, threads: Int): Worker

  /** As many threads as work at once, with the class loader of the calling thread. An idle one ends after a minute. Their work may block. */
  def growing(name: String): Executor

  /** A thread for this work alone. */
  def start(name: String)(work: => Unit): Unit
}

/** Threads that carry out work now and later. What a work throws ends that work alone; a repeated one is done again after the next pause. */
trait Worker extends Executor with AutoCloseable {
  def schedule(nanos: Long)(work: => Unit): Timer

  /** First after one pause. */
  def every(pause: FiniteDuration)(work: => Unit): Timer

  /** Interrupts what is under way, and drops the rest. */
  override def close(): Unit
}

trait Timer {

  /** What has begun ends. */
  def cancel(): Unit
}

private[runtime] final class JvmWorkers extends Workers {
  import JvmWorkers._

  override def fixed(name: String, threads: Int): Worker = new JvmWorker(name, threads)

  override def growing(name: String): Executor = {
    val loader  = Thread.currentThread.getContextClassLoader
    val daemons = new Daemons(name)
    val pool    = Executors.newCachedThreadPool { work =>
      val thread = daemons.newThread(work)
      thread.setContextClassLoader(loader)
      thread
    }
    work => pool.execute(() => logged(name)(work.run()))
  }

  override def start(name: String)(work: => Unit): Unit = new Daemons(name).newThread(() => logged(name)(work)).start()
}

private object JvmWorkers {
  private val log = LoggerFactory.getLogger(classOf[Workers])

  /** What leaves a thread of an executor ends its JVM, with all tasks: Spark has it so. And a pool does repeated work that throws never again. */
  private def logged(name: String)(work: => Unit): Unit =
    try work
    catch { case e: Throwable => log.warn(s"Work of $name has failed.", e) }

  private final class Daemons(name: String) extends ThreadFactory {
    private val made = new AtomicInteger

    override def newThread(work: Runnable): Thread = {
      val thread = new Thread(work, s"$name-${made.incrementAndGet()}")
      thread.setDaemon(true)
      thread
    }
  }

  private final class JvmWorker(name: String, threads: Int) extends Worker {
    private val pool = new ScheduledThreadPoolExecutor(threads, new Daemons(name))
    // Timers are mostly cancelled, long before they are due.
    pool.setRemoveOnCancelPolicy(true)

    override def execute(work: Runnable): Unit = pool.execute(() => unlessClosed(work.run()))

    override def schedule(nanos: Long)(work: => Unit): Timer =
      timer(pool.schedule((() => unlessClosed(work)): Runnable, nanos, NANOSECONDS))

    override def every(pause: FiniteDuration)(work: => Unit): Timer =
      timer(pool.scheduleWithFixedDelay(() => unlessClosed(work), pause.toNanos, pause.toNanos, NANOSECONDS))

    /** Closing interrupts what is under way. */
    private def unlessClosed(work: => Unit): Unit = logged(name) {
      try work
      catch { case _: InterruptedException if pool.isShutdown => () }
    }

    override def close(): Unit = pool.shutdownNow(): Unit

    private def timer(of: java.util.concurrent.Future[_]): Timer = () => of.cancel(false): Unit
  }
}
