package io.github.kinesisspark.read.realtime

import scala.concurrent.duration._

/** Batches of which tasks began when they were over, mostly for want of a free core, less those whose tasks all began in time: a core that comes free a moment before the end
  * makes no difference, nor does a machine that stands still for a few short batches.
  *
  * @param nanos how long they lasted, less the others
  */
final private[realtime] case class CoreShortage(batches: Int, nanos: Long) {
  import CoreShortage._

  def and(isShort: Boolean, lastedNanos: Long): CoreShortage =
    if (isShort) CoreShortage(batches + 1, nanos + lastedNanos)
    else if (batches > 1) CoreShortage(batches - 1, (nanos - lastedNanos).max(0))
    else none

  def isLasting: Boolean = batches >= Batches && nanos >= Time.toNanos
}

private[realtime] object CoreShortage {
  val none: CoreShortage = CoreShortage(0, 0)

  private val Batches = 3
  private val Time    = 10.seconds
}
