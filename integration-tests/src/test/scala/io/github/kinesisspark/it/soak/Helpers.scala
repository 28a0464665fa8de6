package io.github.kinesisspark.it.soak

import java.util.concurrent.{CountDownLatch, Executors, Future, TimeUnit}
import java.util.concurrent.atomic.AtomicReference

import scala.concurrent.duration.FiniteDuration
import scala.util.control.NonFatal

/** What is done at the side. Where it fails, whoever waits fails with it. */
final class Helpers extends AutoCloseable {
  private val threads = Executors.newScheduledThreadPool(2)
  private val broken  = new CountDownLatch(1)
  private val cause   = new AtomicReference[Throwable]

  def every(time: FiniteDuration)(work: => Unit): Future[_] =
    threads.scheduleWithFixedDelay(() => guarded(work), 0, time.toMillis, TimeUnit.MILLISECONDS)

  /** Lets them work for that long. */
  def pause(time: FiniteDuration): Unit =
    if (broken.await(time.toNanos, TimeUnit.NANOSECONDS)) throw new IllegalStateException("a helper failed", cause.get)

  override def close(): Unit = threads.shutdownNow(): Unit

  private def guarded(work: => Unit): Unit =
    try work
    catch {
      case NonFatal(e) =>
        cause.compareAndSet(null, e)
        broken.countDown()
        throw e
    }
}
