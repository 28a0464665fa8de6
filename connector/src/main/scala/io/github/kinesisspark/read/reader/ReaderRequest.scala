package io.github.kinesisspark.read.reader

import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.{BoundarySpacing, ExecutorId, ReaderStatus}

/** What the driver wants of one executor's readers. They answer nothing once their source has stopped.
  *
  * @tparam A the answer
  */
sealed trait ReaderRequest[A] extends Product with Serializable {
  def sourceId: String
}

/** Which shards this executor is to read, and what may be dropped: what has changed since the order before, or all.
  *
  * @param number      grows by one from order to order of a source and executor
  * @param settings    there if `read` names all shards: readers of others end. No other order says how to read, as one comes before and one after each
  *                    batch, and credentials need to be sent but once
  * @param commit      the batch that began before is written: its records may be dropped
  * @param read        shards to read from where the next batch starts: those that are new here or continue elsewhere than was ordered
  * @param release     shards whose readers end
  * @param batchEnds   where a batch ends that begins to run now: what comes after it is reported from here on, at leisure until the next order
  * @param driverNanos the driver's clock when it was sent
  * @param liveness    how the readers know from now on that the driver lives
  * @param spacing     how far the boundaries lie apart
  * @param pauseMillis between two reports, at least
  * @param hasRead     whether a reader of this query has ever read anything
  */
final case class ReadOrder(
    sourceId: String,
    number: Long,
    settings: Option[ReadOrder.ReadSettings],
    commit: Boolean,
    read: Vector[ReadOrder.ShardToRead],
    release: Vector[ShardKey],
    batchEnds: Vector[(ShardKey, ShardPosition)],
    driverNanos: Long,
    liveness: Liveness,
    spacing: BoundarySpacing,
    pauseMillis: Long,
    hasRead: Boolean
) extends ReaderRequest[OrderAnswer]

object ReadOrder {

  final case class ReadSettings(config: ReaderConfig, publisher: ResolvedPublisher)

  /** @param position from where the next batch starts
    * @param stop     where to stop reading, in a shard that is not to be read without end
    * @param isClosed the shard has an end
    */
  final case class ShardToRead(shard: ShardKey, position: ShardPosition, stop: Option[ShardPosition], isClosed: Boolean)
}

/** @param isNext whether the order follows the one before, and was carried out; otherwise one with all shards has to come
  * @param report after an order to drop a batch's records unless another report is on its way, which it follows then
  */
final case class OrderAnswer(isNext: Boolean, report: Option[ReaderReport])

/** How far the readers of one source in one executor are.
  *
  * @param pool           identifies this generation of readers in the executor
  * @param number         grows by one from report to report
  * @param isOfAllReaders `statuses` are those of all readers; otherwise of those that have changed since the report before
  * @param applied        the last order that was carried out
  * @param atNanos        when that was so, by the driver's clock, or earlier than that: see [[DriverClock]]
  * @param gone           shards that are no longer read
  * @param hasNews        the driver may wait for something of it
  * @param counts         of those shards of `statuses` and `gone` that have any
  * @param totals         of this executor
  */
final case class ReaderReport(
    executorId: String,
    sourceId: String,
    pool: Long,
    number: Long,
    isOfAllReaders: Boolean,
    applied: Long,
    atNanos: Long,
    statuses: Vector[ReaderStatus],
    gone: Vector[ShardKey],
    counts: Vector[(ShardKey, ShardCounts)],
    hasNews: Boolean,
    totals: ReaderTotals
)

/** What the readers of one source hold and have done since they were opened, in one executor or in all.
  *
  * @param bufferedBytes of heap
  * @param rereadBytes   read from Kinesis again by tasks that found no buffer
  * @param sdkReads      GetRecords answers and events that the SDK has decoded
  * @param delivered     by tasks
  * @param subscriptions nothing by polling
  */
final case class ReaderTotals(
    bufferedBytes: Long,
    rereadBytes: Long,
    rereadRecords: Long,
    reads: ReadCount,
    sdkReads: Long,
    delivered: UserRecordCount,
    polling: PollingReport,
    subscriptions: Option[SubscriptionReport]
) {
  def and(other: ReaderTotals): ReaderTotals = ReaderTotals(
    bufferedBytes + other.bufferedBytes,
    rereadBytes + other.rereadBytes,
    rereadRecords + other.rereadRecords,
    reads and other.reads,
    sdkReads + other.sdkReads,
    delivered and other.delivered,
    polling and other.polling,
    (subscriptions ++ other.subscriptions).reduceOption(_ and _)
  )

  /** What stays of them when the readers are gone. */
  def ended: ReaderTotals = copy(bufferedBytes = 0, subscriptions = subscriptions.map(_.ended))
}

/** All readers of one source, as last reported to the driver.
  *
  * @param byExecutor what they hold and have done
  * @param ofOthers   what was done by executors that read no more, or are gone
  * @param homes      where each shard is read
  * @param counted    of shards, by each executor; a shard that has moved is counted in several
  */
final case class ReadersNow(
    byExecutor: Vector[(ExecutorId, ReaderTotals)],
    ofOthers: ReaderTotals,
    homes: Map[ShardKey, ExecutorId],
    counted: Vector[Map[ShardKey, ShardCounts]]
) {
  lazy val totals: ReaderTotals = byExecutor.map(_._2).foldLeft(ofOthers)(_ and _)

  private lazy val sums: Map[ShardKey, ShardCounts] = counted
    .filter(_.nonEmpty)
    .reduceOption((sums, more) =>
      more.foldLeft(sums) { case (all, (shard, counts)) =>
        all.updated(shard, all.get(shard).fold(counts)(_ and counts))
      }
    )
    .getOrElse(Map.empty)

  def counts(shard: ShardKey): ShardCounts = sums.getOrElse(shard, ShardCounts.none)
}

object ReadersNow {
  val none: ReadersNow = ReadersNow(Vector.empty, ReaderTotals.none, Map.empty, Vector.empty)
}

object ReaderTotals {
  val none: ReaderTotals = ReaderTotals(0, 0, 0, ReadCount.none, 0, UserRecordCount.none, PollingReport.none, None)
}

/** What readers have read ahead since they were opened.
  *
  * @param reads answers of GetRecords, or events of subscriptions
  */
final case class ReadCount(reads: Long, records: Long, bytes: Long) {
  def and(other: ReadCount): ReadCount = ReadCount(reads + other.reads, records + other.records, bytes + other.bytes)

  /** Never below zero: an executor that is lost takes the counts of its shards along. */
  def since(other: ReadCount): ReadCount =
    ReadCount((reads - other.reads).max(0), (records - other.records).max(0), (bytes - other.bytes).max(0))

  /** The average of a read; 0 where there was none. */
  def bytesPerRead: Long   = perRead(bytes)
  def recordsPerRead: Long = perRead(records)

  private def perRead(n: Long) = if (reads == 0) 0L else n / reads
}

object ReadCount {
  val none: ReadCount = ReadCount(0, 0, 0)
}

/** What tasks have made of Kinesis records. A range that is read twice counts twice.
  *
  * @param records     Kinesis records
  * @param userRecords rows; those that are not taken apart are one
  * @param ofOthers    user records that were left out, because their keys belong to another shard
  * @param damaged     Kinesis records that begin as aggregated ones and are none
  */
final case class UserRecordCount(records: Long, userRecords: Long, ofOthers: Long, damaged: Long) {
  def and(other: UserRecordCount): UserRecordCount = UserRecordCount(
    records + other.records,
    userRecords + other.userRecords,
    ofOthers + other.ofOthers,
    damaged + other.damaged
  )

  /** User records in a Kinesis record, on average. */
  def factor: Double = if (records == 0) 1 else userRecords.toDouble / records
}

object UserRecordCount {
  val none: UserRecordCount = UserRecordCount(0, 0, 0, 0)
}

/** Closes the readers of a source now instead of at the end of their lease. Answered when they are closed. */
final case class ReleaseRequest(sourceId: String) extends ReaderRequest[Boolean]
