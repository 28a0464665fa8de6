package io.github.kinesisspark.read.catalog

import java.time.Instant

import org.slf4j.LoggerFactory

import io.github.kinesisspark.config.OptionException
import io.github.kinesisspark.read.reader.DataLoss

/** Times that people gave as positions in one stream: whether the service takes them, and still has what came after them.
  *
  * @param now in ms by the service's clock
  */
final class GivenTimes(stream: ListedStream, now: Long, failOnDataLoss: Boolean) {
  import GivenTimes._

  /** Where to begin. The service refuses a time that it has not reached.
    *
    * @throws OptionException where one is in the future
    * @throws io.github.kinesisspark.aws.KinesisException as [[checkKept]]
    */
  def checkStart(times: Vector[GivenTime]): Unit = {
    val future = times.filter(time => ShardEnds.isFuture(time.millis, now))
    if (future.nonEmpty)
      throw new OptionException(
        Seq(
          s"'startingPosition' (${future.mkString(", ")}) is in the future: it is ${Instant.ofEpochMilli(now)} by the clock of ${stream.arn}. Give " +
            "an earlier time, or LATEST."
        )
      )
    checkKept("startingPosition", times)
  }

  /** A stream that is younger than its retention has all that came after any time.
    *
    * @throws io.github.kinesisspark.aws.KinesisException `KINESIS_DATA_LOSS` where one is past the stream's retention, and `failOnDataLoss` is true
    */
  def checkKept(option: String, times: Vector[GivenTime]): Unit = {
    val oldest = now - stream.retention.toMillis
    val past   = times.filter(_.millis < oldest)
    if (past.nonEmpty && stream.createdMillis < oldest)
      DataLoss.ofPositions(
        s"'$option' (${past.mkString(", ")}) is past the retention of ${stream.arn}, which keeps ${stream.retention.toHours} hours",
        failOnDataLoss,
        log
      )
  }
}

object GivenTimes {
  private val log = LoggerFactory.getLogger(classOf[GivenTimes])

  /** @param shard for which the time was given; none if it is for the whole stream */
  final case class GivenTime(millis: Long, shard: Option[String] = None) {
    override def toString: String = shard.fold("")(id => s"$id at ") + Instant.ofEpochMilli(millis).toString
  }
}
