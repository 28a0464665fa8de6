package io.github.kinesisspark.read.reader

import io.github.kinesisspark.position.{ShardKey, ShardPosition}

/** What the driver asks of one executor's readers. An executor that isn't the one it is for answers nothing, nor does one whose
  * source has stopped.
  *
  * @tparam A the answer
  */
sealed trait ReaderRequest[A] extends Product with Serializable {
  def executorId: String
}

/** Before a batch is planned: "read these shards, and report how far you are".
  *
  * @param executorId  whom it is for
  * @param number      grows from request to request of a source; one that a later one has overtaken answers nothing
  * @param shards      all that this executor is to read, each from where the next batch starts; readers of others end
  * @param ending      those of them that are closed: they have an end
  * @param stops       where to stop reading, in shards that are not to be read on for ever
  * @param sinceMillis how long ago the driver began to ask: older answers of the service don't tell what is there now
  * @param leaseMillis how long the readers go on without hearing from the driver
  * @param grain       how far the boundaries of tips lie apart
  * @param hasRead     whether a reader of this query has ever read anything
  */
final case class ProbeRequest(
    executorId: String,
    number: Long,
    config: ReaderConfig,
    publication: Publication,
    shards: Vector[(ShardKey, ShardPosition)],
    ending: Set[ShardKey],
    stops: Map[ShardKey, ShardPosition],
    sinceMillis: Long,
    leaseMillis: Long,
    grain: Grain,
    hasRead: Boolean
) extends ReaderRequest[ProbeAnswer]

/** @param settled every shard has something, has ended, or had nothing more after the driver began to ask
  * @param opened  every shard has been answered by the service at least once, or has had the time for it
  * @param totals  of this executor
  */
final case class ProbeAnswer(
    tips: Vector[ShardTip],
    settled: Boolean,
    opened: Boolean,
    totals: ReaderTotals
)

/** What the readers of one source hold and have done since they were opened, in one executor or in all.
  *
  * @param bufferedBytes of heap
  * @param rereadBytes   read from Kinesis again by tasks that found no buffer
  * @param delivered     by tasks
  * @param subscriptions nothing by polling
  */
final case class ReaderTotals(
    bufferedBytes: Long,
    rereadBytes: Long,
    rereadRecords: Long,
    reads: ReadCount,
    delivered: UserRecordCount,
    polling: PollingReport,
    subscriptions: Option[SubscriptionReport]
) {
  def and(other: ReaderTotals): ReaderTotals = ReaderTotals(
    bufferedBytes + other.bufferedBytes,
    rereadBytes + other.rereadBytes,
    rereadRecords + other.rereadRecords,
    reads and other.reads,
    delivered and other.delivered,
    polling and other.polling,
    (subscriptions ++ other.subscriptions).reduceOption(_ and _)
  )
}

object ReaderTotals {
  val none: ReaderTotals = ReaderTotals(0, 0, 0, ReadCount.none, UserRecordCount.none, PollingReport.none, None)
}

/** What readers have read ahead since they were opened.
  *
  * @param reads answers of GetRecords, or events of subscriptions
  */
final case class ReadCount(reads: Long, records: Long, bytes: Long) {
  def and(other: ReadCount): ReadCount = ReadCount(reads + other.reads, records + other.records, bytes + other.bytes)

  /** Never below zero, as an executor that is lost takes its count along. */
  def since(other: ReadCount): ReadCount =
    ReadCount((reads - other.reads).max(0), (records - other.records).max(0), (bytes - other.bytes).max(0))
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
final case class ReleaseRequest(executorId: String, source: String) extends ReaderRequest[Boolean]
