package io.github.kinesisspark.position

import io.github.kinesisspark.error.ErrorCatalogue

import scala.collection.immutable.{SortedMap, TreeMap}

/** How far a query has read: what Spark's offset log stores, and all that is stored anywhere.
  *
  * @param streams by ARN, in the order of the ARN's text so that equal offsets have equal JSON
  * @param idle    real-time batches in a row that ended here, and did not find that all was read
  */
final case class KinesisOffset(streams: Map[StreamArn, StreamOffset], idle: Int = 0) {

  /** The end of a real-time batch that did not find that all is read. Spark takes an end that equals its start for that, and returns from
    * `processAllAvailable()`.
    */
  private[kinesisspark] def differingFrom(start: KinesisOffset): KinesisOffset =
    if (streams == start.streams) copy(idle = start.idle + 1) else this

  def progress(shard: ShardKey): Option[ShardProgress] = streams.get(shard.stream).flatMap(_.shards.get(shard.shardId))

  def shards: Iterator[(ShardKey, ShardProgress)] =
    for {
      (arn, stream)  <- streams.iterator
      (id, progress) <- stream.shards.iterator
    } yield ShardKey(arn, id) -> progress

  /** The ranges of a batch that starts at this offset and ends at `end`; shards that did not move have none, nor has a
    * stream that the end has dropped as a whole: it was taken out of the list.
    *
    * @throws OffsetException where the two are not those of one batch: a shard is left out that was not at its end, or is in the end alone and doesn't say
    *                         where it begins
    */
  def rangesTo(end: KinesisOffset): Vector[ShardRange] = {
    for {
      (shard, progress) <- shards
      if !progress.isAtEnd && end.streams.contains(shard.stream) && end.progress(shard).isEmpty
    }
      throw new OffsetException(
        s"$shard is at ${ShardPosition.encode(progress.position)} in the batch's start and missing in its end"
      )
    end.shards.flatMap { case (shard, to) =>
      val from = progress(shard).map(_.position) match {
        case Some(exact) if !exact.isTime => exact
        case inStart                      =>
          to.firstPosition
            .orElse(inStart)
            .getOrElse(
              throw new OffsetException(
                s"$shard is in the batch's end, which doesn't say where it begins, and missing in its start; ${OffsetException.NewCheckpoint}"
              )
            )
      }
      Option.when(from != to.position)(ShardRange(shard, from, to.position))
    }.toVector
  }
}

object KinesisOffset {

  /** Before the first planning: no stream has been looked at yet. */
  val initial: KinesisOffset = KinesisOffset(Map.empty)
}

/** @param createdMillis when the stream was created: another stream of the same name has the same ARN and another time
  * @param shards        by id
  * @param completeTo    up to when the stream is read completely, if that is known
  */
final case class StreamOffset(
    createdMillis: Long,
    shards: SortedMap[String, ShardProgress],
    completeTo: Option[CompleteTo] = None
)

/** All that arrived before a time is read.
  *
  * @param millis         by the service's clock
  * @param retentionHours of the stream then, where that was said: a longer one, set later, doesn't bring back what was gone
  */
final case class CompleteTo(millis: Long, retentionHours: Option[Long])

object StreamOffset {
  val noShards: SortedMap[String, ShardProgress] = TreeMap.empty

  def apply(createdMillis: Long, shards: Iterable[(String, ShardProgress)]): StreamOffset =
    new StreamOffset(createdMillis, TreeMap.from(shards))
}

/** @param position      what is read so far
  * @param firstPosition where the shard begins in this batch, if the batch's start doesn't say it, or doesn't say it exactly: it doesn't name the shard,
  *                      or says a time. What the first record since a time is may depend on when Kinesis is asked, as records may arrive with earlier
  *                      times than those before them
  */
final case class ShardProgress(position: ShardPosition, firstPosition: Option[ShardPosition] = None) {
  def isAtEnd: Boolean = position == ShardPosition.ShardEnd
}

/** An offset that cannot be used, and what to do about it. */
final class OffsetException(message: String)
    extends RuntimeException(
      s"[${OffsetException.ErrorClass}] $message${ErrorCatalogue.suffix(OffsetException.ErrorClass)}"
    )

object OffsetException {
  val ErrorClass = "KINESIS_OFFSET_REFUSED"

  /** The advice that some refusals end in, with what it does to sinks that know batches by their number. */
  val NewCheckpoint: String =
    "start the query with a new checkpoint. Its batches are numbered from 0 again: give a file sink a new directory, and key a table " +
      "by query id and batch"
}
