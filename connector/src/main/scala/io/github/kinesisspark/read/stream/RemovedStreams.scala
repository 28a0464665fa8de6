package io.github.kinesisspark.read.stream

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws._
import io.github.kinesisspark.config.{ClientOptions, StreamRef}
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.reader.StreamAccess
import io.github.kinesisspark.read.stream.RemovedStreams.RemovedStream

/** Streams that were taken out of the list while a batch with their records was not yet committed. The batch runs again and must have the same records,
  * so these streams are read once more: with the source's own endpoint and credentials, as their own options left with them, in the region of their ARN.
  *
  * A stream that doesn't exist any more is not read. Any other failure ends the query.
  *
  * @param client of the source as a whole
  * @param isRead whether a stream is in the list
  */
final class RemovedStreams(client: ClientOptions, isRead: StreamArn => Boolean, clients: KinesisClients) {
  import clients.runtime

  private val log    = LoggerFactory.getLogger(classOf[RemovedStreams])
  private var opened = Map.empty[StreamArn, Option[RemovedStream]]

  /** Access to those that a batch was read from. */
  def access: Map[StreamArn, StreamAccess] = opened.collect { case (arn, Some(removed)) => arn -> removed.access }

  /** The hash keys of all their shards. */
  def hashKeys: Map[ShardKey, HashKeyRange] = for {
    (arn, found) <- opened
    removed      <- found.iterator
    shard        <- removed.shards
  } yield ShardKey(arn, shard.id) -> shard.hashKeys

  /** The ranges of a batch that can still be read.
    *
    * @param end the batch's
    * @throws OffsetException where a stream is not in the list any more and can't be reached without its own options
    */
  def readable(ranges: Vector[ShardRange], end: KinesisOffset): Vector[ShardRange] = {
    val removed = ranges.map(_.shard.stream).distinct.filterNot(isRead)
    removed.filterNot(opened.contains).foreach(arn => opened += arn -> open(arn, end.streams(arn).createdMillis))
    val gone = removed.filter(opened(_).isEmpty).toSet
    ranges.filterNot(range => gone(range.shard.stream))
  }

  private def open(arn: StreamArn, created: Long): Option[RemovedStream] = {
    val found = find(arn, created)
    if (found.isDefined)
      log.warn(
        "{} is not in the list of streams any more; the batch that runs again reads it once more",
        arn
      )
    else
      log.warn(
        "{} is not in the list of streams any more and does not exist any more; the batch runs again without its records, as " +
          "failOnDataLoss is false",
        arn
      )
    found
  }

  private def find(arn: StreamArn, created: Long): Option[RemovedStream] = {
    val access = StreamAccess(Endpoints.located(client.copy(region = None)), arn.region)
    val lease  = clients.lease(access.client, access.region)
    try {
      val directory = new StreamDirectory(lease.client, BlockingCalls.of(lease))
      val exists    = directory.describe(StreamRef.ByArn(arn)).createdMillis == created
      Option.when(exists)(RemovedStream(access, directory.listShards(arn, ShardFilter.All).shards))
    } catch {
      case gone: KinesisException if gone.reason == FailureReason.NotFound && isAtHome(arn) => None
      case NonFatal(e)                                                                      =>
        throw new OffsetException(
          s"The last batch was not committed and runs again with records of $arn, which is not in the list of streams any more " +
            s"and can't be reached without options of its own: ${e.getMessage} Put the stream and its options back until " +
            "that batch is committed, then take it out."
        )
    } finally lease.close()
  }

  /** Whether the source's endpoint is that of the stream's region: then a stream that it doesn't find doesn't exist. */
  private def isAtHome(arn: StreamArn) = client.endpoint.isEmpty || client.region.contains(arn.region)
}

private object RemovedStreams {

  /** One that still exists. */
  final case class RemovedStream(access: StreamAccess, shards: Vector[Shard])
}
