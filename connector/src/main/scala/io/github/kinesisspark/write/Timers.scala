package io.github.kinesisspark.write

import java.util.concurrent.{
  ExecutorService,
  Executors,
  Future,
  FutureTask,
  ScheduledExecutorService,
  ScheduledThreadPoolExecutor,
  TimeUnit
}

import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.aws.DaemonThreads

/** What the writers of this JVM's tasks do when their time has come. One that blocks holds up no other. */
private[write] object Timers {

  /** @return to cancel it; if it runs, with an interrupt */
  def after(time: FiniteDuration)(action: => Unit): Future[_] = {
    val task = new FutureTask[Unit](() => action)
    clock.schedule((() => workers.execute(task)): Runnable, time.toNanos, TimeUnit.NANOSECONDS)
    task
  }

  private lazy val clock: ScheduledExecutorService =
    new ScheduledThreadPoolExecutor(1, new DaemonThreads("kinesis-writers-clock"))

  // As many threads as work at once; an idle one ends after a minute.
  private lazy val workers: ExecutorService = Executors.newCachedThreadPool(new DaemonThreads("kinesis-writers"))
}
