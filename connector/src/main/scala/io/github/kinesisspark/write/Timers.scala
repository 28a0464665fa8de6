package io.github.kinesisspark.write

import java.util.concurrent.{ScheduledExecutorService, ScheduledThreadPoolExecutor, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.duration.FiniteDuration

/** What the writers of this JVM's tasks do when their time has come, on two threads for all of them. */
private[write] object Timers {

  def after(time: FiniteDuration)(action: => Unit): Unit =
    threads.schedule((() => action): Runnable, time.toNanos, TimeUnit.NANOSECONDS): Unit

  private lazy val threads: ScheduledExecutorService = {
    val number = new AtomicInteger
    new ScheduledThreadPoolExecutor(
      2,
      work => {
        val thread = new Thread(work, s"kinesis-writers-${number.incrementAndGet()}")
        thread.setDaemon(true)
        thread
      }
    )
  }
}
