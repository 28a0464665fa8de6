package io.github.kinesisspark.write

import java.util.concurrent.{
  Callable,
  ExecutionException,
  ExecutorService,
  Executors,
  ScheduledExecutorService,
  ScheduledThreadPoolExecutor,
  TimeUnit,
  TimeoutException
}

import scala.concurrent.duration._

import io.github.kinesisspark.aws.DaemonThreads

/** Timers of the writers of this JVM's tasks. A timer that blocks delays no other. */
private[write] object WriterTimers {

  def after(time: FiniteDuration)(action: => Unit): Unit = {
    val work: Runnable = () => action
    clock.schedule((() => workers.execute(work)): Runnable, time.toNanos, TimeUnit.NANOSECONDS): Unit
  }

  /** On behalf of a task, without its thread: Spark may kill a task and not interrupt that. Then the work is interrupted.
    *
    * @throws java.lang.InterruptedException where the task is killed, or the calling thread interrupted
    * @throws java.lang.Throwable            what the work throws
    */
  def unlessKilled[A](isKilled: () => Boolean)(work: => A): A = {
    val job: Callable[A] = () => work
    val result           = workers.submit(job)
    try {
      while (!result.isDone && !isKilled())
        try result.get(Glance.toMillis, TimeUnit.MILLISECONDS): Unit
        catch { case _: TimeoutException => () }
      if (result.isDone) result.get() else throw new InterruptedException("The task is being killed")
    } catch { case e: ExecutionException => throw e.getCause }
    finally result.cancel(true): Unit
  }

  private val Glance = 100.millis

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
