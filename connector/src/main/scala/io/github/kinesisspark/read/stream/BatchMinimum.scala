package io.github.kinesisspark.read.stream

/** Holds small batches back for `minRecordsPerTrigger`, but never longer than `maxTriggerDelay` after the last batch. */
final class BatchMinimum(startNanos: Long) {
  private var lastBatch = startNanos

  /** @param nearlyFull the readers can't take in much more: waiting would bring nothing */
  def holdsBack(limits: AdmissionLimits, records: Long, nearlyFull: Boolean, nowNanos: Long): Boolean =
    limits.least.exists { case (least, delay) =>
      records < least && !nearlyFull && nowNanos - lastBatch < delay.toNanos
    }

  def batchPlanned(nowNanos: Long): Unit = lastBatch = nowNanos
}
