package io.github.kinesisspark.read.catalog

import java.util.concurrent.atomic.AtomicReference

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws._
import io.github.kinesisspark.config.{StartingPosition, StreamOptions, StreamRef}
import io.github.kinesisspark.position.{
  HashKeyRange,
  Shard,
  ShardKey,
  ShardPosition,
  ShardProgress,
  StreamArn,
  StreamOffset
}
import io.github.kinesisspark.read.plan.{Lineage, ShardKnowledge}
import io.github.kinesisspark.read.reader.StreamAccess
import io.github.kinesisspark.runtime.Closing

/** A stream that was found, and what is known of its shards: [[ShardKnowledge]], from every listing and from the last answers of parents.
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
    val failOnDataLoss: Boolean,
    directory: StreamDirectory,
    lease: ClientLease,
    val clients: KinesisClients
) extends AutoCloseable {
  import ListedStream._
  import clients.runtime

  private val log = LoggerFactory.getLogger(classOf[ListedStream])

  @volatile private var times = ServiceTimes.none

  private val knowledge = new AtomicReference(ShardKnowledge.none)
  private var listedAt  = runtime.clock.nanos()

  private val relisting = new BesideCaller("kinesis-listing")
  private val asking    = new BesideCaller("kinesis-existence")

  // A failed listing is repeated by the next discovery; meanwhile the query plans by the last one.
  private val briefly          = BlockingCalls.of(lease).within(DiscoveryPatience)
  private val discovery        = new StreamDirectory(lease.client, briefly)
  @volatile private var broken = Option.empty[Failures]

  /** Shards that were awaited in vain. */
  private var neverListed = Set.empty[String]

  /** What LATEST means for this query, in ms by the service's clock. */
  private var latest = Option.empty[Long]

  /** By the id of the shard. */
  private val questions = new AtomicReference(Map.empty[String, Question])

  list(): Unit

  def lineage: Lineage = knowledge.get().lineage

  /** The hash keys of shards. After a restart a listing may be older than a shard of the checkpoint: the caller waits until one has it. Of shards that the
    * service doesn't have any more there is nothing left to read.
    *
    * @throws KinesisException where listing or asking has failed for too long, or can't succeed
    */
  def hashKeys(shardIds: Set[String]): Map[String, HashKeyRange] = {
    awaitListed(shardIds -- neverListed, runtime.clock.nanos())
    knowledge.get().hashKeys(shardIds)
  }

  @tailrec private def awaitListed(shardIds: Set[String], since: Long): Unit = {
    val left    = unlisted(shardIds)
    def missing = left.toVector.sorted.mkString(", ")
    if (left.nonEmpty)
      if (runtime.clock.nanos() - since < LongestLag.toNanos) {
        runtime.lines.warn(log, s"lag $arn", arn)(
          s"$arn: batches wait until a listing has $missing, as the service has them."
        )
        runtime.waits.sleep(ListAgain)
        awaitListed(shardIds, since)
      } else {
        neverListed ++= left
        log.warn(
          s"$arn: no listing has $missing, though the service has them. User records of other shards in them are not left out."
        )
      }
  }

  /** Those of the shards that no listing has up to now, though the service has them. Where some are not known yet, lists the stream, and asks about those
    * that are still missing.
    */
  private def unlisted(shardIds: Set[String]): Set[String] = {
    def unknown = knowledge.get().unknown(shardIds)
    if (unknown.nonEmpty) {
      listedAt = runtime.clock.nanos()
      relist()
      broken.foreach(failIfLasting)
    }
    val asked = unknown
    if (asked.nonEmpty) findMissing(asked.toVector, BlockingCalls.of(lease), directory): Unit
    unknown
  }

  /** Adds the children that the last answers of their parents named. */
  def addChildren(children: Iterable[Shard]): Unit = {
    // Those of ended shards are named in each planning until their parents leave the offset.
    val unknown = children.filterNot(child => lineage.has(child.id))
    if (unknown.nonEmpty) knowledge.updateAndGet(_.withChildren(unknown, runtime.clock.nanos())): Unit
  }

  /** Lists its shards. Epoch ms by the service's clock. */
  def serviceTime(): Long = list().serviceTimeMillis

  /** The same, from what is known without a call. */
  def now: Long = ago(0)

  /** What it was so many ms ago. */
  def ago(millis: Long): Long = times.at(runtime.clock.nanos() - millis.millis.toNanos)

  /** Lists beside the caller if so much time has passed.
    *
    * @throws KinesisException where listing has failed for too long, or can't succeed
    */
  def refreshAfter(interval: FiniteDuration): Unit = {
    broken.foreach(failIfLasting)
    listBeside(interval): Unit
  }

  /** Lists now, because somebody waits for the children of a shard; at most once a second. Where that takes long, the caller continues without it. */
  def refreshSoon(): Unit = if (listBeside(ListAgain)) relisting.await(CallerPatience)

  private def listBeside(interval: FiniteDuration) = {
    val isDue = relisting.isIdle && runtime.clock.nanos() - listedAt > interval.toNanos
    if (isDue) {
      listedAt = runtime.clock.nanos()
      relisting.start(relist())
    }
    isDue
  }

  /** Asks the service about shards that no listing has, or that a reader doesn't find; about each at most once a second. Where that takes long,
    * the caller continues without an answer; where it fails, or where GetShardIterator and listings contradict each other, the next planning asks
    * again. A listing that contradicts GetShardIterator for `maxRetryDuration` is not believed: the shard is gone.
    *
    * @return those without an answer
    * @throws KinesisException where asking has failed for too long, or can't succeed
    */
  def askAbout(shardIds: Iterable[String]): Set[String] = {
    // Asked first: what is under way may be answered at any time.
    val isIdle = asking.isIdle
    val now    = runtime.clock.nanos()
    val all    = questions.updateAndGet(_.filter { case (_, question) => question.isKept(now) })
    val due    = shardIds.filterNot(all.get(_).exists(_.isRecent(now))).toVector
    if (due.nonEmpty && isIdle) {
      questions.updateAndGet(_ ++ due.map(id => id -> all.get(id).fold(Question.first(now))(_.again(now))))
      asking.start(ask(due))
      asking.await(CallerPatience)
    }
    val known = questions.get()
    val left  = shardIds.filterNot(known.get(_).exists(_.isAnswered)).toSet
    left.flatMap(known.get(_).flatMap(_.failed)).foreach(failIfLasting)
    left
  }

  private def ask(shardIds: Vector[String]): Unit = {
    val (missing, failure) =
      try findMissing(shardIds, briefly, discovery) -> None
      catch { case NonFatal(e) => Missing.none -> Some(failureOf(e)) }
    val now                 = runtime.clock.nanos()
    val before              = questions.get()
    val (believed, tooLong) =
      missing.listed.partition(id => !before.get(id).exists(_.isContradicted(now, maxRetryDuration)))
    if (tooLong.nonEmpty) recordGone(tooLong)
    // That the stream is gone is an answer, if none about its shards.
    val failed = failure.filter(_.reason != FailureReason.NotFound)
    questions.updateAndGet(all =>
      all ++ shardIds.map { id =>
        val last = all.getOrElse(id, Question.first(now))
        id -> (failed match {
          case Some(why)            => last.failedBy(why, now)
          case None if believed(id) => last.contradicted(now)
          case None                 => last.answered(now)
        })
      }
    )
    failure.foreach { why =>
      runtime.lines.warn(log, s"existence $arn", arn)(
        s"$arn: whether ${shardIds.mkString(", ")} still exist was not found out. ${why.getMessage}"
      )
    }
    if (believed.nonEmpty) warnOfContradiction(believed)
  }

  /** Those of the shards that the service doesn't have any more. Blocks while GetShardIterator and listings contradict each other, for
    * `maxRetryDuration` at most: then listings are not believed.
    */
  def gone(shardIds: Iterable[String]): Set[String] = {
    val began = runtime.clock.nanos()

    @tailrec def look(ids: Set[String], before: Set[String]): Set[String] = {
      val missing = findMissing(ids.toVector, BlockingCalls.of(lease), directory)
      val gone    = before ++ missing.gone
      if (missing.listed.isEmpty) gone
      else if (runtime.clock.nanos() - began > maxRetryDuration.toNanos) {
        recordGone(missing.listed)
        gone ++ missing.listed
      } else {
        warnOfContradiction(missing.listed)
        runtime.waits.sleep(ListAgain)
        look(missing.listed, gone)
      }
    }
    look(shardIds.toSet, Set.empty)
  }

  /** Looks into a shard. None where the service doesn't have it any more, as it may have gone past retention since it was listed.
    *
    * @throws KinesisException as `look` does
    */
  def unlessGone[A](shardId: String)(look: => A): Option[A] =
    try Some(look)
    catch { case e: KinesisException if e.reason == FailureReason.NotFound && gone(Seq(shardId)).nonEmpty => None }

  /** A listing alone may be older than a shard, and GetShardIterator finds none where the stream itself is gone. So a shard is gone that neither
    * GetShardIterator finds nor a listing has that is asked for after that. One that such a listing has may be gone as well: the listing may be older than
    * the shard's expiry.
    */
  private def findMissing(shardIds: Vector[String], calls: BlockingCalls, by: StreamDirectory): Missing = {
    val probes   = new ShardProbes(lease.client, calls)
    val notFound = Parallel.map(shardIds)(id => Option.unless(probes.finds(ShardKey(arn, id)))(id)).flatten.toSet
    val gone     = if (notFound.isEmpty) notFound else notFound -- list(by).shards.map(_.id)
    if (gone.nonEmpty) recordGone(gone)
    Missing(gone, listed = notFound -- gone)
  }

  private def recordGone(shardIds: Set[String]): Unit =
    knowledge.updateAndGet(_.denied(shardIds, runtime.clock.nanos())): Unit

  private def warnOfContradiction(shardIds: Set[String]): Unit = runtime.lines.warn(log, s"contradiction $arn", arn)(
    s"$arn: GetShardIterator does not find ${shardIds.toVector.sorted.mkString(", ")}, and ListShards still returns them. They are not read until both " +
      s"agree. After ${maxRetryDuration.toSeconds} s (maxRetryDuration) they count as gone."
  )

  /** When the stream was created that has the name now. */
  def createdNow(): Long = directory.describe(StreamRef.ByArn(arn)).createdMillis

  /** @param patience with each question; left out, `maxRetryDuration` */
  private[catalog] def probes(patience: Option[FiniteDuration] = None): ShardProbes =
    new ShardProbes(lease.client, patience.foldLeft(BlockingCalls.of(lease))(_.within(_)))

  /** Looks into its shards. */
  val ends: ShardEnds = new ShardEnds(_ => probes())

  /** Those that were open at a time, in ms by the service's clock. */
  def openAt(epochMillis: Long): Vector[String] = {
    val open = directory.listShards(arn, ShardFilter.OpenAt(epochMillis)).shards
    knowledge.updateAndGet(_.withChildren(open, runtime.clock.nanos()))
    open.map(_.id).filter(lineage.has)
  }

  /** Where a query without a checkpoint begins: LATEST is turned into the service's time here and nowhere else, and stays what it was the first
    * time.
    *
    * @throws io.github.kinesisspark.config.OptionException where the time is in the future
    * @throws OffsetException  where positions are given that aren't this stream's
    * @throws KinesisException `KINESIS_DATA_LOSS` where they are past its retention, and `failOnDataLoss` is true
    */
  def initialPositions(): Vector[(String, ShardPosition)] = {
    val positions = startingPositions()
    // Only now, as that lists the shards.
    lineage.begun(positions)
  }

  /** What is known of the offset at which a query without a checkpoint begins, if it was given one. */
  def givenOffset: Option[StreamOffset] = startingPosition.collect {
    case StartingPosition.Shards(_, Some(created), shards, completeTo) =>
      StreamOffset(created, shards.map { case (id, at) => id -> ShardProgress(at) }).copy(completeTo = completeTo)
  }

  private def startingPositions(): Vector[(String, ShardPosition)] =
    startingPosition.getOrElse(StartingPosition.Latest) match {
      case StartingPosition.TrimHorizon =>
        val listed = list().shards
        Lineage(listed.filter(shard => lineage.has(shard.id))).roots.map(_ -> ShardPosition.TrimHorizon)
      case StartingPosition.Latest =>
        val (time, open) = latest.fold {
          val now = serviceTime()
          now -> lineage.open
        }(first => first -> beginningAt(first))
        latest = Some(time)
        open.map(_ -> ShardPosition.AtTimestamp(time))
      case StartingPosition.AtTimestamp(t) =>
        givenStart.checkStart(Vector(GivenPositions.GivenTime(t.toEpochMilli)), serviceTime())
        beginningAt(t.toEpochMilli).map(_ -> ShardPosition.AtTimestamp(t.toEpochMilli))
      case asked: StartingPosition.Shards =>
        list()
        givenStart.beginQuery(asked, serviceTime())
    }

  /** At exactly the time of a reshard both parents and children were open. The children come after their parents. */
  private def beginningAt(epochMillis: Long) = lineage.eldest(openAt(epochMillis))

  private def givenStart = new GivenPositions("startingPosition", this)

  override def close(): Unit = lease.close()

  private def relist(): Unit =
    try {
      list(discovery)
      broken = None
    } catch {
      case NonFatal(e) =>
        val failure = failureOf(e)
        broken = Some(Failures.after(broken, failure, runtime.clock.nanos()))
        runtime.lines.warn(log, s"listing ${failure.errorClass} $arn", arn)(
          s"Listing the shards of $arn failed; the query reads on by the last listing. ${failure.getMessage}"
        )
    }

  private def failureOf(e: Throwable) = e match {
    case known: KinesisException => known
    case other => KinesisFault.exception(AwsCall.ListShards, s"stream $arn", FaultClassifier.classify(other))
  }

  private def failIfLasting(failures: Failures): Unit =
    if (failures.endQuery(maxRetryDuration)) throw failures.last

  private def maxRetryDuration = access.client.retries.maxDuration

  private def list(by: StreamDirectory = directory): ShardListing = {
    val asOf    = runtime.clock.nanos()
    val listing = by.listShards(arn, ShardFilter.All)
    times = times.answered(listing.serviceTimeMillis, runtime.clock.nanos())
    knowledge.updateAndGet(_.listed(listing.shards, asOf))
    listing
  }
}

object ListedStream {

  /** The least time between two listings that readers wait for. */
  private[kinesisspark] val ListAgain = 1.second

  /** How much older than a shard a listing may be: mostly it is seconds. */
  private[catalog] val LongestLag = 2.minutes

  /** How long one discovery retries. */
  private val DiscoveryPatience = 10.seconds

  /** How long a planning waits for an answer without which it can continue. */
  private val CallerPatience = 1.second

  /** Questions to the service that failed in a row.
    *
    * @param since when the first has, by the driver's clock
    * @param until when the last has
    */
  private final case class Failures(since: Long, until: Long, last: KinesisException) {

    /** A stream that isn't found may have been deleted, which the readers find out. */
    def endQuery(maxDuration: FiniteDuration): Boolean = last.reason match {
      case FailureReason.Outage   => until - since > maxDuration.toNanos
      case FailureReason.NotFound => false
      case _                      => true
    }
  }

  private object Failures {

    /** Those before don't count where nobody has asked for long, as with a long trigger. */
    def after(before: Option[Failures], failure: KinesisException, now: Long): Failures =
      Failures(before.filter(now - _.until <= InARow.toNanos).fold(now)(_.since), now, failure)

    val InARow = 10.minutes
  }

  /** Shards that GetShardIterator does not find.
    *
    * @param gone   a listing that was asked for after that doesn't have them either
    * @param listed such a listing has them
    */
  private final case class Missing(gone: Set[String], listed: Set[String])

  private object Missing {
    val none: Missing = Missing(Set.empty, Set.empty)
  }

  /** The last question about a shard.
    *
    * @param at                when it was asked or answered, or has failed
    * @param failed            it, or those before it while it is under way
    * @param contradictedSince from when on GetShardIterator has not found the shard, and each listing has had it
    */
  private final case class Question(
      at: Long,
      failed: Option[Failures],
      contradictedSince: Option[Long],
      isAnswered: Boolean
  ) {
    def isRecent(now: Long): Boolean = now - at <= ListAgain.toNanos
    def isKept(now: Long): Boolean   = if (isAnswered) isRecent(now) else now - at <= Failures.InARow.toNanos

    def isContradicted(now: Long, forLongerThan: FiniteDuration): Boolean =
      contradictedSince.exists(now - _ > forLongerThan.toNanos)

    def again(now: Long): Question    = copy(at = now, isAnswered = false)
    def answered(now: Long): Question = Question(now, failed = None, contradictedSince = None, isAnswered = true)

    def failedBy(failure: KinesisException, now: Long): Question =
      copy(at = now, failed = Some(Failures.after(failed, failure, now)), isAnswered = false)

    def contradicted(now: Long): Question =
      Question(now, failed = None, contradictedSince.orElse(Some(now)), isAnswered = false)
  }

  private object Question {
    def first(now: Long): Question = Question(now, failed = None, contradictedSince = None, isAnswered = false)
  }

  /** Describes the stream and lists its shards.
    *
    * @throws KinesisException `KINESIS_NO_REGION`, `KINESIS_NOT_FOUND` where there is no such stream, and others
    */
  def open(options: StreamOptions, failOnDataLoss: Boolean, clients: KinesisClients): ListedStream = {
    import clients.runtime
    val access = StreamAccess(
      Endpoints.located(options.client),
      Regions.resolve(options.stream, options.client)
    )
    val lease = clients.lease(access.client, access.region)
    Closing.unlessMade(lease.close()) {
      val directory   = new StreamDirectory(lease.client, BlockingCalls.of(lease))
      val description = directory.describe(options.stream)
      new ListedStream(
        description.arn,
        description.createdMillis,
        description.retentionHours.hours,
        access,
        options.startingPosition,
        failOnDataLoss,
        directory,
        lease,
        clients
      )
    }
  }
}
