package io.github.kinesisspark

import scala.concurrent.duration._

import io.github.kinesisspark.aws._
import io.github.kinesisspark.config.{SourceOptions, StreamOptions}
import io.github.kinesisspark.position.{KinesisOffset, Shard, ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.read.catalog.{Parallel, ShardProbes}

/** A shard as it is now, and where a query is in it.
  *
  * @param openedMillis since 1970, to the second, or coarser after more than 30 reshards; nothing where it was open already when the stream's memory begins
  * @param closedMillis since 1970, to the second; nothing while it is open
  * @param position     of the query, if one was given that is in this shard
  * @param millisBehind how far that position is behind, by the service's clock: the age of the first record after it
  */
final case class ShardView(
    stream: StreamArn,
    shard: Shard,
    openedMillis: Option[Long],
    closedMillis: Option[Long],
    position: Option[ShardPosition],
    millisBehind: Option[Long]
)

/** The shards of streams as they are now: who descends from whom, since when, and how far a query has come.
  *
  * Calls, for each stream: one DescribeStreamSummary, one ListShards and 17 more for each reshard within a day's retention, 500 at most;
  * with an offset one GetShardIterator and one GetRecords for each shard that the query is in, of several shards at a time.
  */
object StreamShards {

  /** Shards that the service still lists, in the order of the options' streams and of their ids. Blocks.
    *
    * @param options as of `format("kinesis")`: the streams, region, endpoint and credentials; others don't matter
    * @param offset  a query's, such as the end of its last progress
    * @throws io.github.kinesisspark.config.OptionException where the options can't be used
    * @throws io.github.kinesisspark.aws.KinesisException   with a stable `errorClass`, such as `KINESIS_NOT_FOUND`
    */
  def list(options: Map[String, String], offset: KinesisOffset = KinesisOffset.initial): Seq[ShardView] =
    SourceOptions.parseStreams(options).flatMap(shardsOf(_, offset))

  private def shardsOf(stream: StreamOptions, offset: KinesisOffset): Seq[ShardView] = {
    val clients = KinesisClients.ofJvm
    import clients.runtime
    val lease = clients.lease(stream.client, Regions.resolve(stream.stream, stream.client))
    try {
      val calls     = BlockingCalls.of(lease).within(Patience)
      val directory = new StreamDirectory(lease.client, calls)
      val probes    = new ShardProbes(lease.client, calls)
      val described = directory.describe(stream.stream)
      val listing   = directory.listShards(described.arn, ShardFilter.All)
      val now       = listing.serviceTimeMillis
      val begin     = described.createdMillis.max(now - described.retentionHours * 3600000L).min(now)
      val open      = listing.shards.filterNot(_.closed).map(_.id).toSet
      val times     = ShardTimes
        .find(begin, now, open)(t => directory.listShards(described.arn, ShardFilter.OpenAt(t)).shards.map(_.id).toSet)
        .withShortLived(listing.shards, begin)
      Parallel.map(listing.shards.sortBy(_.id)) { shard =>
        val key      = ShardKey(described.arn, shard.id)
        val position = offset.progress(key).map(_.position)
        ShardView(
          described.arn,
          shard,
          times.opened.get(shard.id),
          times.closed.get(shard.id),
          position,
          position.map(probes.millisBehind(key, _))
        )
      }
    } finally lease.close()
  }

  /** Somebody waits at a prompt. */
  private val Patience = 1.minute
}
