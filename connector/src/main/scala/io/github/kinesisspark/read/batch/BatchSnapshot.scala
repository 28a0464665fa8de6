package io.github.kinesisspark.read.batch

import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.{SourceOptions, StartingPosition}
import io.github.kinesisspark.position.{HashKeyRange, ShardKey, ShardRange, StreamArn}
import io.github.kinesisspark.read.catalog.{ShardCatalog, ShardEnds}
import io.github.kinesisspark.read.reader.StreamAccess

/** What a batch read reads, fixed to the record when it is planned first: every action on its DataFrame reads the same.
  *
  * @param slices   parents before children, stream by stream
  * @param hashKeys of all shards, closed ones as well
  * @param now      when it was taken, in ms by the service's clock
  */
final case class BatchSnapshot(
    slices: Vector[BatchSnapshot.Slice],
    streams: Map[StreamArn, StreamAccess],
    hashKeys: Map[ShardKey, HashKeyRange],
    now: Long
)

object BatchSnapshot {

  /** A range of one shard that the batch reads.
    *
    * @param oldest when its first record arrived, about; in ms by the service's clock
    * @param newest when its last record arrived, about
    * @param size   if all of it was seen
    */
  final case class Slice(range: ShardRange, oldest: Option[Long], newest: Option[Long], size: Option[ShardEnds.Size]) {

    /** Bytes of data and keys, at most: a shard takes 1 MB a second. */
    def most(now: Long): Long = size.fold {
      val until = newest.getOrElse(now)
      ((until - oldest.getOrElse(until)).max(0) + 1000) * BytesPerMilli
    }(_.bytes)
  }

  /** @throws OptionException  where the positions make no sense for a batch
    * @throws OffsetException  where they aren't the streams', or in the wrong order
    * @throws KinesisException `KINESIS_DATA_LOSS` where they are past retention and `failOnDataLoss` is true, and others of the calls
    */
  def take(options: SourceOptions, clients: KinesisClients): BatchSnapshot = {
    val catalog = new ShardCatalog(options, clients)
    try {
      val histories = catalog.streams.map(new StreamHistory(_))
      val slices    = options.streams.toVector.zip(histories).flatMap { case (asked, history) =>
        history.between(
          asked.startingPosition.getOrElse(StartingPosition.TrimHorizon),
          asked.endingPosition.getOrElse(StartingPosition.Latest)
        )
      }
      BatchSnapshot(slices, catalog.access, histories.flatMap(_.hashKeys).toMap, histories.map(_.now).max)
    } finally catalog.close()
  }

  /** @see [[https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html quotas]] */
  private val BytesPerMilli = 1000L
}
