package io.github.kinesisspark.runtime

import java.util.concurrent.{CompletableFuture, TimeoutException}

import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration._

/** All waiting of threads. A thread that waits holds no monitor but the one it waits for. An interrupt ends each wait with an
  * InterruptedException.
  */
abstract class Waits(clock: Clock) {

  /** Waits for a signal, as `Object.wait` does: the caller holds the monitor, which is free meanwhile. May return without a signal.
    *
    * @param nanos for so long at most; positive
    */
  def await(monitor: AnyRef, nanos: Long): Unit

  /** Wakes all who wait. The caller holds the monitor. */
  def signal(monitor: AnyRef): Unit

  /** Waits until something is so, which is looked at after each signal. The caller holds the monitor.
    *
    * @return whether it is so
    */
  final def until(monitor: AnyRef, atMost: FiniteDuration)(isSo: => Boolean): Boolean = {
    val deadline = clock.nanos() + atMost.toNanos
    var left     = atMost.toNanos
    var so       = isSo
    while (!so && left > 0) {
      await(monitor, left)
      so = isSo
      left = deadline - clock.nanos()
    }
    so
  }

  def sleep(time: FiniteDuration): Unit = {
    val nobody = new Object
    nobody.synchronized(until(nobody, time)(false)): Unit
  }

  /** Whether the future has its result in time. */
  final def isDone(future: Future[_], atMost: FiniteDuration): Boolean =
    isDone(atMost)(done => future.onComplete(_ => done())(ExecutionContext.parasitic))

  /** The result, as of `CompletableFuture.get`.
    *
    * @throws java.util.concurrent.TimeoutException   where it doesn't come in time
    * @throws java.util.concurrent.ExecutionException what the future failed with
    */
  final def get[A](future: CompletableFuture[A], atMost: FiniteDuration): A = {
    val isHere = future.isDone || isDone(atMost)(done => future.whenComplete((_, _) => done()): Unit)
    if (isHere) future.get() else throw new TimeoutException
  }

  private def isDone(atMost: FiniteDuration)(whenDone: (() => Unit) => Unit): Boolean = {
    val end    = new Object
    var isOver = false
    whenDone { () =>
      end.synchronized {
        isOver = true
        signal(end)
      }
    }
    end.synchronized(until(end, atMost)(isOver))
  }
}

private[runtime] final class JvmWaits(clock: Clock) extends Waits(clock) {
  override def await(monitor: AnyRef, nanos: Long): Unit =
    monitor.wait(nanos / 1000000, (nanos % 1000000).toInt)

  override def signal(monitor: AnyRef): Unit = monitor.notifyAll()
}

/** A lock for one thread at a time that needn't be waited for. Not reentrant. Whoever finds it free takes it without entering a monitor. */
final class TryLock(implicit runtime: Runtime) {
  import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

  private val isTaken = new AtomicBoolean
  private val waiting = new AtomicInteger

  /** Whether it was free; then it is the caller's. */
  def tryTake(): Boolean = isTaken.compareAndSet(false, true)

  /** Waits for it. Whether it is the caller's. */
  def tryTake(atMost: FiniteDuration): Boolean = {
    if (Thread.interrupted()) throw new InterruptedException
    tryTake() || {
      waiting.incrementAndGet()
      try synchronized(runtime.waits.until(this, atMost)(tryTake()))
      finally waiting.decrementAndGet(): Unit
    }
  }

  /** Waits for it, whatever interrupts: the thread is interrupted when it has the lock. */
  def take(): Unit = {
    var isInterrupted = false
    var isMine        = tryTake()
    while (!isMine)
      try isMine = tryTake(1.day)
      catch { case _: InterruptedException => isInterrupted = true }
    if (isInterrupted) Thread.currentThread.interrupt()
  }

  def free(): Unit = {
    isTaken.set(false)
    if (waiting.get > 0) synchronized(runtime.waits.signal(this))
  }
}

/** A queue that any thread fills, and that one thread takes from, which may wait for more. */
final class WaitingQueue[A](implicit runtime: Runtime) {
  private val all                = new java.util.concurrent.ConcurrentLinkedQueue[A]
  @volatile private var isWaited = false

  def put(one: A): Unit = {
    all.add(one)
    if (isWaited) synchronized(runtime.waits.signal(this))
  }

  def isEmpty: Boolean = all.isEmpty

  def poll(): Option[A] = Option(all.poll())

  /** Waits for one. */
  def poll(atMost: FiniteDuration): Option[A] = poll().orElse {
    synchronized {
      isWaited = true
      try runtime.waits.until(this, atMost)(!all.isEmpty): Unit
      finally isWaited = false
    }
    poll()
  }
}
