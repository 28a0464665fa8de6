package io.github.kinesisspark.write

import java.util.concurrent.atomic.AtomicLong

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.config.BadRecords
import io.github.kinesisspark.write.send.BadRecord

/** What becomes of the rows of one task that can never be written; a timer finds some, the task's thread others. */
private[write] final class BadRows(treatment: BadRecords) {
  import BadRows._

  private val count = new AtomicLong

  def skipped: Long = count.get

  /** @throws KinesisException `KINESIS_BAD_RECORD`, unless such rows are skipped */
  def add(record: BadRecord): Unit = treatment match {
    case BadRecords.Fail =>
      throw new KinesisException(
        "KINESIS_BAD_RECORD",
        s"This row can never be written: $record The rows of its call were not sent. Mend it or leave it out; or set badRecords " +
          "to skip, to count such rows and go on."
      )
    case BadRecords.Skip =>
      val nth = count.incrementAndGet()
      if (nth <= Samples)
        log.warn(s"Skipped $record" + (if (nth == Samples) " Further ones are only counted." else ""))
  }
}

private object BadRows {
  private val log     = LoggerFactory.getLogger(classOf[BadRows])
  private val Samples = 5
}
