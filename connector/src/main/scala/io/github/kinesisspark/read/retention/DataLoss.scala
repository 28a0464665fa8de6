package io.github.kinesisspark.read.retention

import org.slf4j.Logger

import io.github.kinesisspark.aws.KinesisException

object DataLoss {

  /** The name that monitoring finds lost records by. */
  val ErrorClass = "KINESIS_DATA_LOSS"

  /** Reports that records which a task was to read are gone: as an error, or in the log.
    *
    * @param what names the shard and where in it, in a sentence without its full stop
    * @throws KinesisException if `failOnDataLoss`
    */
  def ofTask(what: String, failOnDataLoss: Boolean, log: Logger, cause: Option[KinesisException] = None): Unit = {
    if (failOnDataLoss)
      throw new KinesisException(
        ErrorClass,
        s"$what: they are past its retention, or the stream was created anew. Set failOnDataLoss to false to continue " +
          "without them, and raise the stream's retention.",
        cause.orNull
      )
    log.warn("{}; continuing, as failOnDataLoss is false.", what)
  }
}
