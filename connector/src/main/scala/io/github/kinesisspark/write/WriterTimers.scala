package io.github.kinesisspark.write

import java.util.concurrent.{
  ExecutorService,
  Executors,
  ScheduledExecutorService,
  ScheduledThreadPoolExecutor,
  TimeUnit
}

import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.aws.DaemonThreads

/** Timers of the writers of this JVM's tasks. A timer that blocks delays no other. */
private[write] object WriterTimers {

  def after(time: FiniteDuration)(action: => Unit): Unit = {
    val work: Runnable = () => action
    clock.schedule((() => workers.execute(work)): Runnable, time.toNanos, TimeUnit.NANOSECONDS): Unit
  }

  private lazy val clock: ScheduledExecutorService =
    new ScheduledThreadPoolExecutor(1, new DaemonThreads("kinesis-writers-clock"))

  // As many threads as work at once; an idle one ends after a minute.
  private lazy val workers: ExecutorService = Executors.newCachedThreadPool(new DaemonThreads("kinesis-writers"))
}

/** Work that a timer's thread does for an object, until the object is closed. Thread-safe. */
private[write] final class InterruptibleRun {
  private var runner = Option.empty[Thread]
  private var isOver = false

  /** Does the work, unless the end has come. */
  def run(work: => Unit): Unit = if (began())
    try work
    finally ended()

  /** Interrupts the work under way; there is none after it. */
  def end(): Unit = synchronized {
    isOver = true
    runner.foreach(_.interrupt())
  }

  private def began() = synchronized {
    if (!isOver) runner = Some(Thread.currentThread)
    !isOver
  }

  private def ended(): Unit = synchronized {
    runner = None
    Thread.interrupted(): Unit
  }
}
