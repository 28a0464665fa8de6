package io.github.kinesisspark.benchmarks.latency

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

/** How long records were on their way, in the JVM that puts them and gets them, by `System.nanoTime`. One measurement at a time. */
object Samples {
  private val all = new ConcurrentLinkedQueue[Sample]

  private final case class Sample(put: Long, took: Long)

  def begin(): Unit = all.clear()

  /** @param put when the call that put the record began */
  def arrived(put: Long): Unit = all.add(Sample(put, System.nanoTime() - put)): Unit

  /** Of records put in a span of time. */
  def between(from: Long, until: Long): Quantiles = Quantiles(
    all.asScala.iterator.filter(s => s.put - from >= 0 && s.put - until < 0).map(_.took / 1e6).toArray.sorted
  )
}

/** @param sorted in ms */
final case class Quantiles(sorted: Array[Double]) {
  def count: Int = sorted.length

  /** @param share from 0 to 1 */
  def at(share: Double): Double =
    if (sorted.isEmpty) Double.NaN else sorted(math.min(sorted.length - 1, (share * sorted.length).toInt))
}
