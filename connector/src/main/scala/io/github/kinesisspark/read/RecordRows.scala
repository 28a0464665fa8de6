package io.github.kinesisspark.read

import org.apache.spark.sql.catalyst.InternalRow
import org.slf4j.LoggerFactory

import io.github.kinesisspark.aggregation.AggregatedRecord
import io.github.kinesisspark.position.{HashKeyRange, ShardKey}
import io.github.kinesisspark.read.shard.{KinesisRecord, UserRecordCount}

/** The rows of one shard's records: one for each, or those of its user records. Ranges and limits know nothing of the latter,
  * so records are taken apart no sooner than here, one at a time.
  *
  * @param hashKeys the shard's, if aggregated records are to be taken apart
  */
private[read] final class RecordRows(shard: ShardKey, hashKeys: Option[HashKeyRange]) {
  import RecordRows._

  private val writer   = new RowWriter(shard)
  private var records  = 0L
  private var ofOthers = 0L
  private var damaged  = 0L
  private var damage   = ""

  def of(record: KinesisRecord): Iterator[InternalRow] = hashKeys match {
    case None       => asItIs(record)
    case Some(keys) =>
      AggregatedRecord.read(record.data) match {
        case AggregatedRecord.Plain                => asItIs(record)
        case all: AggregatedRecord.Aggregated      => apart(record, all, keys)
        case AggregatedRecord.Damaged(whatIsWrong) =>
          if (damaged == 0) damage = s"${record.sequenceNumber}: $whatIsWrong"
          damaged += 1
          asItIs(record)
      }
  }

  /** So far. */
  def delivered: UserRecordCount = UserRecordCount(records, ofOthers, damaged)

  /** Says what is unusual in what was read. */
  def warn(): Unit = {
    if (damaged > 0)
      log.warn(
        "{}: {} records begin as aggregated ones and are none; they come as they are. The first is {}",
        shard,
        damaged,
        damage
      )
    if (ofOthers > 0)
      log.warn(
        "{}: left out {} user records of aggregated ones with hash keys of other shards, as their producer puts them there again",
        shard,
        ofOthers
      )
  }

  private def asItIs(record: KinesisRecord) = {
    records += 1
    Iterator.single(writer.write(record))
  }

  private def apart(record: KinesisRecord, all: AggregatedRecord.Aggregated, keys: HashKeyRange) = {
    val mine = all.within(keys)
    records += mine.size
    ofOthers += all.records.size - mine.size
    mine.iterator.map { case (user, place) => writer.write(user, place, record) }
  }
}

private object RecordRows {
  private val log = LoggerFactory.getLogger(classOf[RecordRows])
}
