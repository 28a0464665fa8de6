package io.github.kinesisspark.aws

import java.util.concurrent.{ScheduledExecutorService, ScheduledThreadPoolExecutor, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import scala.collection.mutable
import scala.concurrent.duration.FiniteDuration

/** Values that are made once per key, counted by their leases, and closed a while after the last lease. Thread-safe. */
private[aws] final class SharedPool[K, V <: AutoCloseable](
    make: K => V,
    idleTime: FiniteDuration,
    closer: ScheduledExecutorService
) {

  /** @param leases those out; at 0 for a generation that a later lease ends */
  private final class Entry(val value: V) {
    var leases: Int      = 0
    var generation: Long = 0
  }

  private val entries = mutable.Map.empty[K, Entry]

  trait Lease extends AutoCloseable {
    def value: V
    override def close(): Unit
  }

  def lease(key: K): Lease = synchronized {
    val entry = entries.getOrElseUpdate(key, new Entry(make(key)))
    entry.leases += 1
    entry.generation += 1
    new Lease {
      private val open = new AtomicBoolean(true)

      override def value: V =
        if (open.get) entry.value else throw new IllegalStateException("The lease of this client was closed")

      override def close(): Unit = if (open.compareAndSet(true, false)) giveBack(key, entry)
    }
  }

  private[aws] def size: Int = synchronized(entries.size)

  private def giveBack(key: K, entry: Entry): Unit = synchronized {
    entry.leases -= 1
    if (entry.leases == 0) {
      val generation = entry.generation
      closer.schedule((() => closeIfIdle(key, entry, generation)): Runnable, idleTime.toMillis, TimeUnit.MILLISECONDS)
    }
  }

  /** Closing waits for Netty's threads, so it is done on the closer's thread and outside the lock. */
  private def closeIfIdle(key: K, entry: Entry, generation: Long): Unit = {
    val idle = synchronized {
      val unused = entry.leases == 0 && entry.generation == generation
      if (unused) entries.remove(key)
      unused
    }
    if (idle) entry.value.close()
  }
}

private[aws] object SharedPool {

  /** One daemon thread for the JVM, there only while it is needed. */
  lazy val closer: ScheduledExecutorService = {
    val executor = new ScheduledThreadPoolExecutor(1, new DaemonThreads("kinesis-client-closer"))
    executor.setRemoveOnCancelPolicy(true)
    executor
  }
}

private[kinesisspark] object Closing {

  /** Makes a value that owns open resources, and closes these if making it fails. */
  def unlessMade[A](close: => Unit)(make: => A): A =
    try make
    catch {
      case e: Throwable =>
        close
        throw e
    }
}
