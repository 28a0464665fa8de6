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

/** What the writers of this JVM's tasks do when their time has come. One that blocks holds up no other. */
private[write] object Timers {

  def after(time: FiniteDuration)(action: => Unit): Unit = {
    val work: Runnable = () => action
    clock.schedule((() => workers.execute(work)): Runnable, time.toNanos, TimeUnit.NANOSECONDS): Unit
  }

  private lazy val clock: ScheduledExecutorService =
    new ScheduledThreadPoolExecutor(1, new DaemonThreads("kinesis-writers-clock"))

  // As many threads as work at once; an idle one ends after a minute.
  private lazy val workers: ExecutorService = Executors.newCachedThreadPool(new DaemonThreads("kinesis-writers"))
}
