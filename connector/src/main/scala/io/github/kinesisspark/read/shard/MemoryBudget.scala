package io.github.kinesisspark.read.shard

import scala.collection.mutable

/** The bytes that one query's readers may hold in one executor, whatever the backlog.
  *
  * Memory is taken before a request is sent, for the largest answer there can be, and given back as far as the answer was
  * smaller; so the bound holds at every moment. Those who must wait are served in the order they came.
  *
  * @param capacity bytes
  */
final class MemoryBudget(val capacity: Long) {
  private var taken   = 0L
  private val waiting = mutable.Queue.empty[(Long, () => Unit)]

  def used: Long = synchronized(taken)

  /** Somebody waits for more. */
  def isShort: Boolean = synchronized(waiting.nonEmpty)

  /** Calls `granted` once `bytes` are taken: now, or later from whoever gives back; never with a lock held. */
  def take(bytes: Long)(granted: () => Unit): Unit = {
    require(bytes <= capacity, s"$bytes bytes can never be granted out of $capacity")
    val now = synchronized {
      val free = waiting.isEmpty && taken + bytes <= capacity
      if (free) taken += bytes else waiting.enqueue(bytes -> granted)
      free
    }
    if (now) granted()
  }

  def giveBack(bytes: Long): Unit = {
    val served = synchronized {
      taken -= bytes
      val ready = mutable.ListBuffer.empty[() => Unit]
      while (waiting.headOption.exists { case (wanted, _) => taken + wanted <= capacity }) {
        val (wanted, granted) = waiting.dequeue()
        taken += wanted
        ready += granted
      }
      ready.toList
    }
    served.foreach(_())
  }
}

object MemoryBudget {

  /** For whoever holds one answer at a time and is bounded by that. */
  def unbounded: MemoryBudget = new MemoryBudget(Long.MaxValue / 2)
}
