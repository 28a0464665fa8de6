package io.github.kinesisspark.write

import java.util.concurrent.{ScheduledExecutorService, ScheduledThreadPoolExecutor, TimeUnit}

import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.aws.DaemonThreads

/** What the writers of this JVM's tasks do when their time has come, on two threads for all of them. */
private[write] object Timers {

  def after(time: FiniteDuration)(action: => Unit): Unit =
    threads.schedule((() => action): Runnable, time.toNanos, TimeUnit.NANOSECONDS): Unit

  private lazy val threads: ScheduledExecutorService =
    new ScheduledThreadPoolExecutor(2, new DaemonThreads("kinesis-writers"))
}
