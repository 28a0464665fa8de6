package io.github.kinesisspark.read.stream

import scala.concurrent.duration._

import org.apache.spark.sql.connector.read.streaming._

import io.github.kinesisspark.config.AdmissionOptions
import io.github.kinesisspark.read.plan.{Admission, BatchLimits}

/** A batch's limits as Spark passes them. */
object SparkLimits {

  def of(options: AdmissionOptions): ReadLimit = {
    val limits = Seq(
      options.minRecordsPerTrigger.map(ReadLimit.minRows(_, options.maxTriggerDelay.toMillis)),
      options.maxRecordsPerTrigger.map(ReadLimit.maxRows(_)),
      options.maxBytesPerTrigger.map(MaxBytes(_))
    ).flatten
    // Not "all available", even if there are no limits: that is what Trigger.Once asks for.
    ReadLimit.compositeLimit(limits.toArray)
  }

  /** `Trigger.Once`: everything there is, in one batch. */
  def isOnce(limit: ReadLimit): Boolean = limit.isInstanceOf[ReadAllAvailable]

  def read(limit: ReadLimit): BatchLimits = limit match {
    case all: CompositeReadLimit => all.getReadLimits.iterator.map(read).foldLeft(BatchLimits.none)(both)
    case max: ReadMaxRows        => BatchLimits(Admission.Limits(Some(max.maxRows), None), None)
    case MaxBytes(bytes)         => BatchLimits(Admission.Limits(None, Some(bytes)), None)
    case min: ReadMinRows => BatchLimits(Admission.Limits.none, Some(min.minRows -> min.maxTriggerDelayMs.millis))
    case _                => BatchLimits.none
  }

  /** Spark's own came with 4.0. */
  private final case class MaxBytes(bytes: Long) extends ReadLimit

  private def both(a: BatchLimits, b: BatchLimits) = BatchLimits(
    Admission.Limits(a.most.maxRecords.orElse(b.most.maxRecords), a.most.maxBytes.orElse(b.most.maxBytes)),
    a.least.orElse(b.least)
  )
}
