package io.github.kinesisspark.read.stream

import scala.concurrent.duration._

import org.apache.spark.sql.connector.read.streaming._

import io.github.kinesisspark.config.AdmissionOptions
import io.github.kinesisspark.read.plan.Admission

/** A batch's limits as Spark passes them, and as planning uses them.
  *
  * @param least wait until there are this many records, but no longer than the time
  */
final case class AdmissionLimits(most: Admission.Limits, least: Option[(Long, FiniteDuration)]) {

  /** A batch may take all that readers hold. */
  def isUnlimited: Boolean = most == Admission.Limits.none
}

object AdmissionLimits {

  def toSpark(options: AdmissionOptions): ReadLimit = {
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

  def fromSpark(limit: ReadLimit): AdmissionLimits = limit match {
    case all: CompositeReadLimit => all.getReadLimits.iterator.map(fromSpark).foldLeft(none)(both)
    case max: ReadMaxRows        => AdmissionLimits(Admission.Limits(Some(max.maxRows), None), None)
    case MaxBytes(bytes)         => AdmissionLimits(Admission.Limits(None, Some(bytes)), None)
    case min: ReadMinRows => AdmissionLimits(Admission.Limits.none, Some(min.minRows -> min.maxTriggerDelayMs.millis))
    case _                => none
  }

  /** Spark's own came with 4.0. */
  private final case class MaxBytes(bytes: Long) extends ReadLimit

  private val none = AdmissionLimits(Admission.Limits.none, None)

  private def both(a: AdmissionLimits, b: AdmissionLimits) = AdmissionLimits(
    Admission.Limits(a.most.maxRecords.orElse(b.most.maxRecords), a.most.maxBytes.orElse(b.most.maxBytes)),
    a.least.orElse(b.least)
  )
}
