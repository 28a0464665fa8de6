package io.github.kinesisspark.read.reader

import org.slf4j.Logger

import io.github.kinesisspark.aws.KinesisException

/** Records that were to be read are gone: `failOnDataLoss` decides whether that is an error or a line in the log. All that find out decide here. */
private[kinesisspark] object DataLoss {

  /** The name that monitoring finds lost records by. */
  val ErrorClass = "KINESIS_DATA_LOSS"

  /** @param what      names the stream or shard and where in it, in a sentence without its full stop
    * @param remedy    what to do, in sentences
    * @param continues with what, where it is no error
    * @throws KinesisException if `failOnDataLoss`
    */
  def report(
      what: String,
      remedy: String,
      continues: String,
      failOnDataLoss: Boolean,
      log: Logger,
      cause: Option[KinesisException] = None
  ): Unit =
    if (failOnDataLoss) throw new KinesisException(ErrorClass, s"$what. $remedy", cause.orNull)
    else log.warn(s"$what; continuing with $continues, as failOnDataLoss is false")

  /** Of records after positions that people gave, or before them. */
  def ofPositions(what: String, failOnDataLoss: Boolean, log: Logger): Unit = report(
    what,
    "Give a later position (TRIM_HORIZON is the oldest record there is); or set failOnDataLoss to false, to read what is left.",
    "what is left",
    failOnDataLoss,
    log
  )

  /** Of records that a task was to read. */
  def ofTask(what: String, failOnDataLoss: Boolean, log: Logger, cause: Option[KinesisException] = None): Unit = report(
    what,
    "They are past its retention, or the stream was created anew. Set failOnDataLoss to false to continue without them, and raise the " +
      "stream's retention.",
    "what is left",
    failOnDataLoss,
    log,
    cause
  )
}
