package io.github.kinesisspark.read

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.github.kinesisspark.aggregation.AggregatedRecord
import io.github.kinesisspark.position.{HashKeyRange, ShardKey}
import io.github.kinesisspark.read.shard.{KinesisRecord, UserRecordCount}

/** The rows of one shard's records: one for each, or those of its user records. Ranges and limits know nothing of the latter,
  * so records are taken apart no sooner than here, one at a time.
  *
  * @param columns  of the rows, in their order
  * @param hashKeys the shard's, if aggregated records are to be taken apart
  */
private[read] final class RecordRows(shard: ShardKey, columns: StructType, hashKeys: Option[HashKeyRange]) {
  import RecordRows._

  private val writer  = new RowWriter(shard, columns)
  private var records = 0L
  private var rows    = 0L
  private var strays  = 0L
  private var damaged = 0L
  private var damage  = ""

  def of(record: KinesisRecord): Iterator[InternalRow] = {
    records += 1
    hashKeys.fold(asItIs(record))(takenApart(record, _))
  }

  /** So far. */
  def delivered: UserRecordCount = UserRecordCount(records, rows, strays, damaged)

  /** Says what is unusual in what was read. */
  def warn(): Unit = {
    if (damaged > 0)
      log.warn(
        "{}: {} records begin as aggregated ones and are none; they come as they are. The first is {}",
        shard,
        damaged,
        damage
      )
    if (strays > 0)
      log.warn(
        "{}: left out {} user records of aggregated ones with hash keys of other shards, as their producer puts them there again",
        shard,
        strays
      )
  }

  private def takenApart(record: KinesisRecord, keys: HashKeyRange) = AggregatedRecord.read(record.data) match {
    case AggregatedRecord.Plain           => asItIs(record)
    case all: AggregatedRecord.Aggregated =>
      val mine = all.within(keys)
      rows += mine.size
      strays += all.records.size - mine.size
      mine.iterator.map { case (user, place) => writer.write(user, place, record) }
    case AggregatedRecord.Damaged(why) =>
      if (damaged == 0) damage = s"${record.sequenceNumber}: $why"
      damaged += 1
      asItIs(record)
  }

  private def asItIs(record: KinesisRecord) = {
    rows += 1
    Iterator.single(writer.write(record))
  }
}

private object RecordRows {
  private val log = LoggerFactory.getLogger(classOf[RecordRows])
}
