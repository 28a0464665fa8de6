package io.github.kinesisspark.read.catalog

import java.time.Instant
import java.util.concurrent.atomic.AtomicReference

import scala.concurrent.{blocking, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws._
import io.github.kinesisspark.config.{OptionException, StartingPosition, StreamOptions}
import io.github.kinesisspark.position.{HashKeyRange, Shard, ShardPosition, StreamArn}
import io.github.kinesisspark.read.batch.GivenPositions
import io.github.kinesisspark.read.plan.{Lineage, ShardKnowledge}
import io.github.kinesisspark.read.reader.StreamAccess

/** A stream that was found, and what is known of its shards: the last listing, and the children that were reported since.
  *
  * Each stream is listed by itself: one that is slow or fails keeps no other from being listed. The first listing must succeed. A later
  * one that fails leaves the last one in force, and the query reads on by it, until listing has failed for `maxRetryDuration`, or for a
  * reason that doesn't pass.
  */
final class ListedStream private (
    val arn: StreamArn,
    val createdMillis: Long,
    val retention: FiniteDuration,
    val access: StreamAccess,
    startingPosition: Option[StartingPosition],
    directory: StreamDirectory,
    lease: ClientLease,
    maxRetryDuration: FiniteDuration
) extends AutoCloseable {
  import ListedStream._

  private val log = LoggerFactory.getLogger(classOf[ListedStream])

  @volatile private var clock = ServiceTime(0, 0)

  private val knowledge  = new AtomicReference(ShardKnowledge(list(), System.nanoTime()))
  private var listedAt   = System.nanoTime()
  private var inProgress = Future.unit

  // A failed listing is repeated by the next discovery; meanwhile the query plans by the last one.
  private val discovery        = new StreamDirectory(lease.client, DirectoryRetry.of(lease, DiscoveryPatience))
  @volatile private var broken = Option.empty[Unlisted]

  def lineage: Lineage = knowledge.get().lineage

  /** The hash keys of shards, where they are known or listed: of those past retention there is nothing left to read. */
  def hashKeys(shardIds: Set[String]): Map[String, HashKeyRange] = {
    if (!shardIds.subsetOf(knowledge.get().hashKeys.keySet)) refresh()
    knowledge.get().hashKeys.filter { case (id, _) => shardIds(id) }
  }

  /** Adds the children that the last answers of their parents named. */
  def learn(children: Vector[Shard]): Unit = knowledge.updateAndGet(_.told(children, System.nanoTime())): Unit

  /** Epoch ms by the service's clock. */
  def serviceTime(): Long = directory.listShards(arn, ShardFilter.All).serviceTimeMillis

  /** The same, from what is known without a call. */
  def now: Long = clock.at(System.nanoTime())

  /** Lists beside the caller if so much time has passed.
    *
    * @throws KinesisException where listing has failed for too long, or can't succeed
    */
  def refreshAfter(interval: FiniteDuration): Unit = {
    broken.filter(_.endsQuery(maxRetryDuration, System.nanoTime())).foreach(unlisted => throw unlisted.last)
    if (inProgress.isCompleted && System.nanoTime() - listedAt > interval.toNanos) {
      listedAt = System.nanoTime()
      inProgress = Future(blocking(relist()))(ExecutionContext.global)
    }
  }

  /** Lists now, because somebody waits for the children of a shard; at most once a second. */
  def refreshSoon(): Unit = if (System.nanoTime() - listedAt > ListAgain.toNanos) refresh()

  private def refresh(): Unit = {
    listedAt = System.nanoTime()
    relist()
  }

  /** Lists now, and believes nothing else of shards that the service doesn't know. */
  def refreshWithout(unknown: Iterable[String]): Unit = {
    knowledge.updateAndGet(_.denied(unknown))
    refresh()
  }

  /** All shards that may still hold records. */
  def listing(): ShardListing = directory.listShards(arn, ShardFilter.All)

  /** Those that were open at a time, in ms by the service's clock. */
  def openAt(epochMillis: Long): Vector[String] =
    directory.listShards(arn, ShardFilter.OpenAt(epochMillis)).shards.map(_.id)

  /** Where a query without a checkpoint begins: LATEST is turned into the service's time here and nowhere else.
    *
    * @throws OptionException  where the time is in the future
    * @throws OffsetException  where positions are given that aren't this stream's
    * @throws KinesisException `KINESIS_DATA_LOSS` where they are past its retention, and `failOnDataLoss` is true
    */
  def beginning(failOnDataLoss: Boolean): Vector[(String, ShardPosition)] =
    startingPosition.getOrElse(StartingPosition.Latest) match {
      case StartingPosition.TrimHorizon => Lineage(list()).roots.map(_ -> ShardPosition.TrimHorizon)
      case StartingPosition.Latest      =>
        val latest = listing()
        Lineage(latest.shards).open.map(_ -> ShardPosition.AtTimestamp(latest.serviceTimeMillis))
      case StartingPosition.AtTimestamp(t) =>
        val now = serviceTime()
        if (ShardEnds.isToCome(t.toEpochMilli, now)) throw inTheFuture(t.toString, now)
        openAt(t.toEpochMilli).map(_ -> ShardPosition.AtTimestamp(t.toEpochMilli))
      case asked: StartingPosition.Shards =>
        new GivenPositions("startingPosition", this, Lineage(list()), failOnDataLoss).begin(asked)
    }

  /** The service refuses a starting time that it has not reached.
    *
    * @param now in ms by the service's clock
    */
  def inTheFuture(times: String, now: Long): OptionException = new OptionException(
    Seq(
      s"'startingPosition' ($times) is in the future: it is ${Instant.ofEpochMilli(now)} by the clock of $arn. Give an earlier time, or LATEST."
    )
  )

  override def close(): Unit = lease.close()

  private def relist(): Unit =
    try {
      val asOf   = System.nanoTime()
      val shards = list(discovery)
      knowledge.updateAndGet(_.listed(shards, asOf))
      broken = None
    } catch {
      case NonFatal(e) =>
        val failure = e match {
          case known: KinesisException => known
          case other => KinesisFault.exception(AwsCall.ListShards, s"stream $arn", FaultClassifier.classify(other))
        }
        broken = Some(Unlisted(broken.fold(System.nanoTime())(_.since), failure))
        log.warn(s"Listing the shards of $arn failed; the query reads on by the last listing. ${failure.getMessage}")
    }

  private def list(directory: StreamDirectory = directory): Vector[Shard] = {
    val listing = directory.listShards(arn, ShardFilter.All)
    clock = ServiceTime(listing.serviceTimeMillis, System.nanoTime())
    listing.shards
  }
}

object ListedStream {

  /** The least time between two listings that readers wait for. */
  private[kinesisspark] val ListAgain = 1.second

  /** How long one discovery retries; a planning may wait for it. */
  private val DiscoveryPatience = 10.seconds

  /** Listings that failed in a row.
    *
    * @param since by `System.nanoTime`
    */
  private final case class Unlisted(since: Long, last: KinesisException) {

    /** A stream that isn't found may have been deleted, which the readers find out. */
    def endsQuery(maxDuration: FiniteDuration, now: Long): Boolean = last.reason match {
      case FailureReason.Outage   => now - since > maxDuration.toNanos
      case FailureReason.NotFound => false
      case _                      => true
    }
  }

  /** The service's clock, in ms since 1970, at a time of `System.nanoTime`. */
  private final case class ServiceTime(millis: Long, asOfNanos: Long) {
    def at(nanos: Long): Long = millis + (nanos - asOfNanos).nanos.toMillis
  }

  /** Describes the stream and lists its shards.
    *
    * @throws KinesisException `KINESIS_NO_REGION`, `KINESIS_NOT_FOUND` where there is no such stream, and others
    */
  def open(options: StreamOptions, maxRetryDuration: FiniteDuration): ListedStream = {
    val region = Regions.resolve(options.stream, options.client)
    val lease  = KinesisClients.lease(options.client, region)
    Closing.unlessMade(lease.close()) {
      val directory   = new StreamDirectory(lease.client, DirectoryRetry.of(lease, maxRetryDuration))
      val description = directory.describe(options.stream)
      new ListedStream(
        description.arn,
        description.createdMillis,
        description.retentionHours.hours,
        StreamAccess(options.client, region, maxRetryDuration),
        options.startingPosition,
        directory,
        lease,
        maxRetryDuration
      )
    }
  }
}
