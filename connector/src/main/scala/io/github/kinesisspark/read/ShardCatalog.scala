package io.github.kinesisspark.read

import java.util.concurrent.atomic.AtomicReference

import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws._
import io.github.kinesisspark.config.{SourceOptions, StartingPosition, StreamOptions}
import io.github.kinesisspark.position.{KinesisOffset, OffsetException, ShardPosition, StreamArn}
import io.github.kinesisspark.read.plan.Lineage
import io.github.kinesisspark.read.shard.StreamAccess

/** What the driver knows of the streams: who they are, and their shards as of the last listing.
  *
  * Streams are described once, at start. Shards are listed at every discovery interval, beside the batches, and at once
  * when a shard has ended. A listing that fails leaves the last one in force; the first must succeed.
  */
final class ShardCatalog(options: SourceOptions) extends AutoCloseable {
  private val log = LoggerFactory.getLogger(classOf[ShardCatalog])

  /** In the user's order. */
  val streams: Vector[ShardCatalog.Stream] = options.streams.iterator.map(ShardCatalog.open).toVector

  private val listed     = new AtomicReference(streams.map(s => s.arn -> s.list()).toMap)
  private var listedAt   = System.nanoTime()
  private var inProgress = Future.unit

  def lineage(arn: StreamArn): Lineage = listed.get()(arn)

  /** In ms, as the service tells it. */
  def serviceTime(): Long = streams.map(_.serviceTime()).max

  /** Lists beside the caller if the interval has passed. */
  def refreshIfDue(): Unit =
    if (inProgress.isCompleted && System.nanoTime() - listedAt > options.shardDiscoveryInterval.toNanos) {
      listedAt = System.nanoTime()
      inProgress = Future(list())(ExecutionContext.global)
    }

  /** Lists now, because somebody waits for the children of a shard; at most once a second. */
  def refreshSoon(): Unit = if (System.nanoTime() - listedAt > 1.second.toNanos) {
    refresh()
  }

  def refresh(): Unit = {
    listedAt = System.nanoTime()
    list()
  }

  /** @throws OffsetException where the offset is of other streams than these
    */
  def check(offset: KinesisOffset): Unit = offset.streams.foreach { case (arn, stored) =>
    streams.find(_.arn == arn) match {
      case None =>
        throw new OffsetException(
          s"The checkpoint is at $arn, which this query does not read (it reads ${streams.map(_.arn).mkString(", ")}). " +
            "Add the stream to streamName or streamArn again, or start the query with a new checkpoint."
        )
      case Some(stream) if stream.createdMillis != stored.createdMillis =>
        throw new OffsetException(
          s"${arn.name} was deleted and created again since the checkpoint was written (then created at " +
            s"${java.time.Instant.ofEpochMilli(stored.createdMillis)}, now at ${java.time.Instant.ofEpochMilli(stream.createdMillis)}): " +
            "positions of the one mean nothing in the other. Start the query with a new checkpoint."
        )
      case _ => ()
    }
  }

  override def close(): Unit = streams.foreach(_.close())

  private def list(): Unit =
    try listed.set(streams.map(s => s.arn -> s.list()).toMap)
    catch {
      case NonFatal(e) => log.warn("the shards could not be listed, the last listing stays in force: {}", e.getMessage)
    }
}

object ShardCatalog {

  /** A stream that was found, with what it takes to ask about it. */
  final class Stream private[ShardCatalog] (
      val arn: StreamArn,
      val createdMillis: Long,
      val access: StreamAccess,
      startingPosition: StartingPosition,
      directory: StreamDirectory,
      lease: ClientLease
  ) extends AutoCloseable {

    def list(): Lineage = Lineage(directory.listShards(arn, ShardFilter.All).shards)

    def serviceTime(): Long = directory.listShards(arn, ShardFilter.All).serviceTimeMillis

    /** Where a query without a checkpoint begins: LATEST is turned into the service's time here and nowhere else. */
    def beginning(): Vector[(String, ShardPosition)] = startingPosition match {
      case StartingPosition.TrimHorizon => list().roots.map(_ -> ShardPosition.TrimHorizon)
      case StartingPosition.Latest      =>
        val listing = directory.listShards(arn, ShardFilter.All)
        Lineage(listing.shards).open.map(_ -> ShardPosition.AtTimestamp(listing.serviceTimeMillis))
      case StartingPosition.AtTimestamp(t) =>
        directory
          .listShards(arn, ShardFilter.OpenAt(t.toEpochMilli))
          .shards
          .map(_.id -> ShardPosition.AtTimestamp(t.toEpochMilli))
    }

    override def close(): Unit = lease.close()
  }

  private def open(options: StreamOptions): Stream = {
    val region      = Regions.resolve(options.stream, options.client)
    val lease       = KinesisClients.lease(options.client, region)
    val directory   = new StreamDirectory(lease.client)
    val description = directory.describe(options.stream)
    new Stream(
      description.arn,
      description.createdMillis,
      StreamAccess(options.client, region),
      options.startingPosition,
      directory,
      lease
    )
  }
}
