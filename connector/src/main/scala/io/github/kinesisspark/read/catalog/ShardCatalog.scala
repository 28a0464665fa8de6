package io.github.kinesisspark.read.catalog

import java.time.Instant

import scala.concurrent.duration.FiniteDuration

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.{HashKeyRange, KinesisOffset, OffsetException, ShardKey, StreamArn}
import io.github.kinesisspark.read.plan.{Lineage, ReaderStatus, StreamChanges}
import io.github.kinesisspark.read.reader.StreamAccess
import io.github.kinesisspark.runtime.Closing

/** What the driver knows of the streams: who they are, and their shards as of the last listings.
  *
  * Streams are described once, at start. Shards are listed at every discovery interval, beside the batches, and at once
  * when a shard has ended and nobody knows its children.
  */
final class ShardCatalog(options: SourceOptions, val clients: KinesisClients) extends AutoCloseable {
  private val log = LoggerFactory.getLogger(classOf[ShardCatalog])

  /** In the user's order. */
  val streams: Vector[ListedStream] = ShardCatalog.open(options, clients)

  private val byArn  = streams.map(s => s.arn -> s).toMap
  private var warned = Set.empty[StreamArn]

  def reads(arn: StreamArn): Boolean = byArn.contains(arn)

  /** The stream's part of what is known of time: its service's clock in ms since 1970, and how long it keeps records. */
  def now(arn: StreamArn): Long                 = byArn(arn).now
  def retention(arn: StreamArn): FiniteDuration = byArn(arn).retention

  /** That clock, so many ms ago. */
  def ago(arn: StreamArn, millis: Long): Long = byArn(arn).ago(millis)

  def lineage(arn: StreamArn): Lineage = byArn(arn).lineage

  /** Where streams begin that were given an offset of another query. */
  def givenOffset: KinesisOffset = KinesisOffset(streams.flatMap(s => s.givenOffset.map(s.arn -> _)).toMap)

  val access: Map[StreamArn, StreamAccess] = byArn.transform((_, stream) => stream.access)

  /** The hash key ranges of the shards, without shards whose range is unknown. */
  def hashKeys(shards: Iterable[ShardKey]): Map[ShardKey, HashKeyRange] = for {
    (arn, ids) <- shards.toSet.groupMap((_: ShardKey).stream)(_.shardId)
    stream     <- byArn.get(arn).iterator
    (id, keys) <- stream.hashKeys(ids)
  } yield ShardKey(arn, id) -> keys

  /** Lists all shards. Epoch ms by the clocks of the services. */
  def serviceTime(): Long = streams.map(_.serviceTime()).max

  /** Lists beside the caller the streams whose interval has passed. */
  def refreshIfDue(): Unit = streams.foreach(_.refreshAfter(options.shardDiscoveryInterval))

  /** Lists now, because somebody waits for the children of a shard; each stream at most once a second, and for a second at most. */
  def refreshSoon(waiting: Iterable[StreamArn]): Unit = waiting.foreach(byArn(_).refreshSoon())

  /** The children of shards that were read to their end, as their readers reported them. */
  def addChildren(statuses: Iterable[ReaderStatus]): Unit = {
    val named = statuses.filter(_.children.nonEmpty).groupMap(_.shard.stream)(_.children)
    for ((arn, children) <- named) byArn(arn).addChildren(children.flatten)
  }

  /** Asks the service about shards that no listing has, or that a reader doesn't find, and waits a second at most for each stream.
    *
    * @return those without an answer
    * @throws io.github.kinesisspark.aws.KinesisException where asking has failed for too long, or can't succeed
    */
  def askAbout(shards: Vector[ShardKey]): Set[ShardKey] = byStream(shards)(_.askAbout(_))

  /** Looks into the shards.
    *
    * @param patience with each question; left out, `maxRetryDuration`
    */
  def ends(patience: Option[FiniteDuration] = None): ShardEnds = new ShardEnds(byArn(_).probes(patience))

  /** Those of the shards that the service doesn't have any more. Blocks until it answers. */
  def gone(shards: Vector[ShardKey]): Set[ShardKey] = byStream(shards)(_.gone(_))

  private def byStream(shards: Vector[ShardKey])(ask: (ListedStream, Vector[String]) => Set[String]): Set[ShardKey] =
    shards.groupMap(_.stream)(_.shardId).flatMap { case (arn, ids) => ask(byArn(arn), ids).map(ShardKey(arn, _)) }.toSet

  /** The checkpoint's part from which a query over these streams continues. Streams that were taken out of the list are left out
    * of it, where the user has allowed that.
    *
    * @throws OffsetException where a stream was taken out of the list and `failOnDataLoss` is true, or was created anew
    */
  def accept(checkpoint: KinesisOffset): KinesisOffset = {
    val changes = StreamChanges.since(checkpoint, streams.map(s => s.arn -> s.createdMillis).toMap)
    changes.recreated.headOption.foreach { stream =>
      throw ShardCatalog.recreated(stream.arn, stream.createdThen, stream.createdNow)
    }
    if (changes.removed.nonEmpty && options.failOnDataLoss)
      throw new OffsetException(
        s"The checkpoint is at ${changes.removed.mkString(", ")}, which this query does not read (it reads " +
          s"${streams.map(_.arn).mkString(", ")}). Add the stream to streamName or streamArn again; or set failOnDataLoss to " +
          s"false once, to continue without it and forget how far it was read; or ${OffsetException.NewCheckpoint}."
      )
    changes.removed.filterNot(warned).foreach { arn =>
      log.warn(
        "{} is in the checkpoint and not read any more; continuing without it, as failOnDataLoss is false. How far it was read is " +
          "forgotten with the next batch.",
        arn
      )
    }
    warned ++= changes.removed
    changes.kept
  }

  /** Asks the service whether the stream is still the one that is read.
    *
    * @throws OffsetException  where it was created anew
    * @throws KinesisException where it is gone
    */
  def checkIsSame(arn: StreamArn): Unit = {
    val (before, now) = (byArn(arn).createdMillis, byArn(arn).createdNow())
    if (now != before) throw ShardCatalog.recreated(arn, before, now)
  }

  override def close(): Unit = streams.foreach(_.close())
}

object ShardCatalog {
  private def recreated(arn: StreamArn, createdThen: Long, createdNow: Long) = new OffsetException(
    s"$arn was deleted and created again since the checkpoint was written (then created at ${Instant.ofEpochMilli(createdThen)}, now " +
      s"at ${Instant.ofEpochMilli(createdNow)}): positions of the one mean nothing in the other. So ${OffsetException.NewCheckpoint}."
  )

  /** All of them, or none. */
  private def open(options: SourceOptions, clients: KinesisClients): Vector[ListedStream] =
    options.streams.foldLeft(Vector.empty[ListedStream]) { (opened, stream) =>
      Closing
        .unlessMade(opened.foreach(_.close()))(opened :+ ListedStream.open(stream, options.failOnDataLoss, clients))
    }
}
