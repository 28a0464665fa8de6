package io.github.kinesisspark.aws

import java.util.concurrent.atomic.AtomicBoolean

import scala.collection.mutable
import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.runtime.{Closing, Timer, Worker}

/** Values that are made once per key, counted by their leases, and closed a while after the last lease. Thread-safe. A key's first lease makes
  * its value; leases of the same key wait for it, those of other keys don't.
  */
private[aws] final class SharedPool[K, V <: AutoCloseable](
    make: K => V,
    idleTime: FiniteDuration,
    closer: Worker
) {

  private final class Entry(key: K) {

    /** Those out; at 0 for a generation that a later lease ends. All three are guarded by the pool. */
    var leases: Int      = 0
    var generation: Long = 0

    /** Closes it, while there are none. Short leases come and go without end, and leave no timers behind. */
    var closing = Option.empty[Timer]

    private var made = Option.empty[V]

    def value: V = synchronized {
      val known = made.getOrElse(make(key))
      made = Some(known)
      known
    }

    def close(): Unit = synchronized(made).foreach(_.close())
  }

  private val entries = mutable.Map.empty[K, Entry]

  final class Lease private[SharedPool] (key: K, entry: Entry, made: V) extends AutoCloseable {
    private val open = new AtomicBoolean(true)

    def value: V =
      if (open.get) made else throw new IllegalStateException("The lease of this client was closed")

    override def close(): Unit = if (open.compareAndSet(true, false)) giveBack(key, entry)
  }

  def lease(key: K): Lease = {
    val entry = synchronized {
      val known = entries.getOrElseUpdate(key, new Entry(key))
      known.leases += 1
      known.generation += 1
      known.closing.foreach(_.cancel())
      known.closing = None
      known
    }
    new Lease(key, entry, Closing.unlessMade(giveBack(key, entry))(entry.value))
  }

  private[aws] def size: Int = synchronized(entries.size)

  private def giveBack(key: K, entry: Entry): Unit = synchronized {
    entry.leases -= 1
    if (entry.leases == 0) {
      val generation = entry.generation
      entry.closing = Some(closer.schedule(idleTime.toNanos)(closeIfIdle(key, entry, generation)))
    }
  }

  /** Closing waits for Netty's threads, so it is done on the closer's thread and outside the lock. */
  private def closeIfIdle(key: K, entry: Entry, generation: Long): Unit = {
    val idle = synchronized {
      val unused = entry.leases == 0 && entry.generation == generation
      if (unused) entries.remove(key)
      unused
    }
    if (idle) entry.close()
  }
}
