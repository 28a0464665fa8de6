package io.github.kinesisspark

import java.time.Instant

import org.apache.spark.sql.SparkSession

import io.github.kinesisspark.config.{SourceOptions, StartingPosition}
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.catalog.{GivenPositions, ShardCatalog}
import io.github.kinesisspark.read.coordinator.DriverRuntime
import io.github.kinesisspark.read.stream.CheckpointOffsets

/** Exact positions, as `startingPosition` and `endingPosition` take them by `OffsetJson.write`. What is before one of them and what
  * comes from it on are all of a stream, and nothing is in both: a batch read up to it and a query from it on share no record.
  */
object StreamPositions {

  /** After the newest record of each shard that is open. What was in the stream when this was called is before it.
    *
    * @param options as of `format("kinesis")`: those of the streams and of their clients are used, and `failOnDataLoss` by [[at]]
    * @throws io.github.kinesisspark.config.OptionException where the options can't be used
    * @throws io.github.kinesisspark.aws.KinesisException   with a stable `errorClass`, such as `KINESIS_NOT_FOUND`
    */
  def latest(options: Map[String, String]): KinesisOffset = exact(options, StartingPosition.Latest)

  /** Where a reader would begin that starts at a time; as [[latest]] if that is still to come.
    *
    * @throws io.github.kinesisspark.aws.KinesisException `KINESIS_DATA_LOSS` where the time is past a stream's retention and `failOnDataLoss` is true, and as
    *                                                     [[latest]]
    */
  def at(options: Map[String, String], time: Instant): KinesisOffset =
    exact(options, StartingPosition.AtTimestamp(time))

  /** Where a batch of a query ended; the last one that is committed, if none is named: one that was only planned may not have come to
    * the sink.
    *
    * @param checkpoint the query's `checkpointLocation`, on any file system that Spark can read
    * @param source     which of several Kinesis sources of the query: its name, or else its number from 0
    * @throws OffsetException where the checkpoint has no such batch, or none of this connector, or several sources of it and
    *                         none is named
    */
  def afterBatch(
      spark: SparkSession,
      checkpoint: String,
      batch: Option[Long] = None,
      source: Option[String] = None
  ): KinesisOffset =
    settled(CheckpointOffsets.in(checkpoint, SessionHadoop.of(spark)).end(batch, source))

  /** Where a batch of a query began.
    *
    * @throws OffsetException as [[afterBatch]]
    */
  def beforeBatch(
      spark: SparkSession,
      checkpoint: String,
      batch: Long,
      source: Option[String] = None
  ): KinesisOffset = {
    val (start, end) = CheckpointOffsets.in(checkpoint, SessionHadoop.of(spark)).ends(batch, source)
    before(start, end)
  }

  /** Where a batch began that a query's progress reports.
    *
    * @param start as the progress has it, without the streams that were first read in the batch: those are in its end alone, with
    *              where they began
    */
  def before(start: KinesisOffset, end: KinesisOffset): KinesisOffset = {
    val begun = end.streams.map { case (arn, stream) =>
      arn -> StreamOffset(
        stream.createdMillis,
        stream.shards.collect { case (id, ShardProgress(_, Some(from))) => id -> ShardProgress(from) }
      )
    }
    settled(KinesisOffset(begun ++ start.streams))
  }

  /** Without what only the batch needs in which a shard is named first. */
  private def settled(offset: KinesisOffset) = KinesisOffset(offset.streams.map { case (arn, stream) =>
    arn -> stream.copy(shards = stream.shards.transform((_, p) => ShardProgress(p.position)))
  })

  private def exact(options: Map[String, String], position: StartingPosition): KinesisOffset = {
    val catalog = new ShardCatalog(SourceOptions.parse(options), DriverRuntime.ofJvm.clients)
    try
      KinesisOffset(catalog.streams.map { stream =>
        val now = stream.serviceTime()
        val cut = new GivenPositions("endingPosition", stream).exact(position, now)
        stream.arn -> StreamOffset(stream.createdMillis, cut.map { case (id, at) => id -> ShardProgress(at) })
      }.toMap)
    finally catalog.close()
  }
}
