package io.github.kinesisspark.write

import java.util.concurrent.CompletableFuture

import scala.collection.mutable
import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.aws.{ClientLease, DirectoryRetry, KinesisClients, Regions, ShardFilter, StreamDirectory}
import io.github.kinesisspark.config.{ClientOptions, StreamRef}
import io.github.kinesisspark.position.Shard
import io.github.kinesisspark.write.send.{CallAnswer, Entry}

/** The calls of one task.
  *
  * @param machineRegion for streams that nobody told the region of
  * @param patience      with ListShards
  */
private[write] final class PutRecordsCalls(
    options: ClientOptions,
    machineRegion: Option[String],
    patience: FiniteDuration
) extends AutoCloseable {

  private val leases = mutable.Map.empty[StreamRef, ClientLease]

  /** @throws KinesisException where there can't be a client */
  def put(stream: StreamRef, entries: Vector[Entry]): CompletableFuture[CallAnswer] = {
    val to = lease(stream)
    PutRecordsCall(to.client, stream, entries, () => to.hasWorked)
  }

  /** The stream's shards, closed ones too. Blocks.
    *
    * @throws KinesisException               of the fault's class
    * @throws java.lang.InterruptedException where the thread was interrupted
    */
  def shards(stream: StreamRef): Vector[Shard] = {
    val from = lease(stream)
    new StreamDirectory(from.client, DirectoryRetry.of(from, patience)).listShards(stream, ShardFilter.All).shards
  }

  override def close(): Unit = leases.values.foreach(_.close())

  private def lease(stream: StreamRef): ClientLease =
    leases.getOrElseUpdate(stream, KinesisClients.lease(options, Regions.resolve(stream, options, _ => machineRegion)))
}
