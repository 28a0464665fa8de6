package io.github.kinesisspark.read.coordinator

import scala.collection.concurrent.TrieMap
import scala.concurrent.duration._

/** Wakes the thread that plans a source's batches when its readers have news. A ring between two looks is not missed: the looks
  * compare counts.
  */
private[coordinator] final class NewsBell {
  private var rings = 0L

  def rung: Long = synchronized(rings)

  def ring(): Unit = synchronized {
    rings += 1
    notifyAll()
  }

  def await(seen: Long, atMost: FiniteDuration): Unit = {
    val deadline = atMost.fromNow
    synchronized {
      while (rings == seen && deadline.hasTimeLeft()) wait(deadline.timeLeft.toMillis.max(1))
    }
  }
}

/** Of all sources whose queries run in this JVM. */
private[coordinator] object NewsBell {
  private val bells = TrieMap.empty[String, NewsBell]

  def of(source: String): NewsBell = bells.getOrElseUpdate(source, new NewsBell)

  def ring(source: String): Unit = bells.get(source).foreach(_.ring())

  def remove(source: String): Unit = bells.remove(source): Unit
}
