package io.github.kinesisspark.read.realtime

import org.apache.spark.sql.catalyst.InternalRow
import org.slf4j.LoggerFactory

import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, Within}
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.{CutPoint, ReaderStatus}
import io.github.kinesisspark.read.reader.{
  DataLoss,
  KinesisRecord,
  MemoryBudget,
  RangeEnds,
  ShardReader,
  UserRecordCount
}
import io.github.kinesisspark.read.row.RecordRows

/** One shard as a task of a real-time batch reads it: what its reader holds is taken out piece by piece, which makes room for more.
  *
  * On the task's thread alone. Should another attempt of the task have begun to read here, the reader doesn't hold this one's place
  * any more: then this one fails, and no record is given twice or left out.
  *
  * @param reader         opened at `from`
  * @param rows           of the shard's records
  * @param failOnDataLoss where the record that it begins with is gone
  * @param leave          called when this one takes nothing more
  */
private[realtime] final class FollowedShard(
    val shard: ShardKey,
    from: ShardPosition,
    reader: ShardReader,
    rows: RecordRows,
    failOnDataLoss: Boolean,
    leave: () => Unit
) extends AutoCloseable {
  import FollowedShard._

  private var records  = Iterator.empty[KinesisRecord].buffered
  private var ofRecord = Iterator.empty[InternalRow]
  private var record   = Option.empty[KinesisRecord]

  /** Where what was taken out of the reader begins, and where it ends. */
  private var begin = from
  private var until = from

  private var count  = 0L
  private var bytes  = 0L
  private var newest = Option.empty[Long]

  /** The next row, if there is one now. Where there is none, the position moves on as well if the reader's does. */
  def next(): Option[InternalRow] = {
    while (!ofRecord.hasNext && nextRecord()) ()
    ofRecord.nextOption()
  }

  /** When the record of the last row arrived, in ms by the service's clock. */
  def arrivalMillis: Long = record.fold(0L)(_.arrivalMillis)

  /** What is before it has been given. */
  def position: ShardPosition = record match {
    case Some(r) if ofRecord.hasNext => Within(r.sequenceNumber, rows.place + 1)
    case Some(r) if records.hasNext  => AfterSequenceNumber(r.sequenceNumber)
    case _                           => until
  }

  def status: ReaderStatus = reader.status

  def memory: MemoryBudget.Account = reader.memory

  /** What was given of it. */
  def taken: CutPoint = CutPoint(position, count, bytes, newest, nextArrival = None)

  def delivered: UserRecordCount = rows.delivered

  /** Says what is unusual in what was read, too. */
  override def close(): Unit = {
    leave()
    rows.warn()
  }

  private def nextRecord(): Boolean = {
    val more = records.hasNext || takeOut()
    if (more && records.hasNext) {
      val next = records.next()
      record = Some(next)
      count += 1
      bytes += next.size
      newest = Some(newest.fold(next.arrivalMillis)(_.max(next.arrivalMillis)))
      ofRecord = rows.of(next)
    }
    more
  }

  /** Whether the reader has come further. */
  private def takeOut(): Boolean = {
    record = None
    begin = until
    val head = reader.advance(begin).getOrElse(throw new IllegalStateException(displaced))
    until = head.until
    records = head.records.buffered
    if (until != begin && begin == from) checkBeginning()
    until != begin
  }

  private def checkBeginning(): Unit =
    if (!RangeEnds.hasFirst(from, records.headOption.map(_.sequenceNumber)))
      DataLoss.ofTask(
        s"Records of $shard from ${ShardPosition.encode(from)} on are next and are no longer in the stream",
        failOnDataLoss,
        log
      )

  private def displaced =
    s"$shard is read by another attempt of this task, or its readers were closed; this one ends at ${ShardPosition.encode(begin)}"
}

private object FollowedShard {
  private val log = LoggerFactory.getLogger(classOf[FollowedShard])
}
