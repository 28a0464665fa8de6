package io.github.kinesisspark.it.soak

import io.github.kinesisspark.testkit.KinesisServer

import scala.util.Random

/** Writes records at a steady rate, and bursts of them, past all faults of the server. Each key counts its own. */
final class Producer(server: KinesisServer, stream: String, keys: Int, perSecond: Int) {
  import Producer._
  private val random  = new Random(0)
  private val numbers = new Array[Long](keys)
  private val began   = System.nanoTime()
  private var steady  = 0L
  private var total   = 0L

  /** Writes what is due by now. */
  def tick(): Unit = synchronized {
    val due = ((System.nanoTime() - began) / 1e9 * perSecond).toLong
    while (steady < due) {
      put(random.nextInt(keys))
      steady += 1
    }
  }

  /** Writes that many at once, of a few keys, so that a few shards get most of them. */
  def burst(records: Int): Unit = synchronized {
    val few = Vector.fill(BurstKeys)(random.nextInt(keys))
    for (i <- 0 until records) put(few(i % BurstKeys))
  }

  def written: Long = synchronized(total)

  /** The last number of each key. */
  def counters: Map[Int, Long] = synchronized(numbers.zipWithIndex.map(_.swap).toMap)

  private def put(key: Int): Unit = {
    numbers(key) += 1
    total += 1
    val entry = Entry(key, numbers(key))
    server.streams.put(stream, entry.partitionKey, entry.data): Unit
  }

}

object Producer {
  private val BurstKeys = 16
}
