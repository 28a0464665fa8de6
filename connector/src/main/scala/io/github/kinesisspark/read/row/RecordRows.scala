package io.github.kinesisspark.read.row

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.github.kinesisspark.aggregation.AggregatedRecord
import io.github.kinesisspark.position.{HashKeyRange, SequenceNumber, ShardPosition, ShardRange}
import io.github.kinesisspark.read.reader.{KinesisRecord, UserRecordCount}

/** The rows of one range's records: one for each, or those of its user records. Ranges and limits know nothing of the latter,
  * so records are taken apart no sooner than here, one at a time.
  *
  * @param range    of which all records are given, those as well that are only in part within it
  * @param columns  of the rows, in their order
  * @param hashKeys the shard's, if aggregated records are to be taken apart
  */
private[read] final class RecordRows(range: ShardRange, columns: StructType, hashKeys: Option[HashKeyRange]) {
  import RecordRows._

  private val row     = new RecordRow(range.shard, columns)
  private val single  = new SingleRow(row)
  private var records = 0L
  private var rows    = 0L
  private var strays  = 0L
  private var damaged = 0L
  private var damage  = ""
  private var last    = 0L
  private val first   = placeIn(range.start)
  private val until   = placeIn(range.end)

  /** The rows of a record, to be taken before those of the next one are asked for. */
  def of(record: KinesisRecord): Iterator[InternalRow] = {
    records += 1
    hashKeys.fold(asItIs(record))(takenApart(record, _))
  }

  /** The place in its Kinesis record of the row that was given last. */
  def place: Long = last

  /** So far. */
  def delivered: UserRecordCount = UserRecordCount(records, rows, strays, damaged)

  /** Says what is unusual in what was read. */
  def warn(): Unit = {
    if (damaged > 0)
      log.warn(
        s"${range.shard}: $damaged records begin as aggregated ones and are none; they come as they are. The first is $damage"
      )
    if (strays > 0)
      log.warn(
        s"${range.shard}: left out $strays user records of aggregated ones with hash keys of other shards. A producer that knows the " +
          "shards puts them there again; of another one, or where the stream distributes records by itself, read with 'deaggregate' = 'false'"
      )
  }

  private def takenApart(record: KinesisRecord, keys: HashKeyRange) =
    if (record.startsWith(AggregatedRecord.Magic)) userRecords(record, keys) else asItIs(record)

  private def userRecords(record: KinesisRecord, keys: HashKeyRange) = AggregatedRecord.read(record.data) match {
    case AggregatedRecord.Plain           => asItIs(record)
    case all: AggregatedRecord.Aggregated =>
      val own = all.within(keys)
      strays += all.records.size - own.size
      withinRange(own, record.sequenceNumber).map { user =>
        rows += 1
        last = user.place
        row.show(user.record, user.place, record)
      }
    case AggregatedRecord.Damaged(why) =>
      if (damaged == 0) damage = s"${record.sequenceNumber}: $why"
      damaged += 1
      asItIs(record)
  }

  /** The range's first and last record may be in it only in part. */
  private def withinRange(own: Vector[AggregatedRecord.Placed], of: SequenceNumber) = {
    val from = first.collect { case (`of`, place) => place }
    val to   = until.collect { case (`of`, place) => place }
    if (from.isEmpty && to.isEmpty) own.iterator
    else own.iterator.filter(user => from.forall(user.place >= _) && to.forall(user.place < _))
  }

  private def asItIs(record: KinesisRecord) = {
    rows += 1
    last = 0
    single.show(record)
  }
}

private object RecordRows {

  /** The only row of a record that is not taken apart. Most records are such, so it is the same iterator for all of them. */
  private final class SingleRow(row: RecordRow) extends Iterator[InternalRow] {
    private var isLeft = false

    def show(record: KinesisRecord): Iterator[InternalRow] = {
      row.show(record): Unit
      isLeft = true
      this
    }

    override def hasNext: Boolean = isLeft

    override def next(): InternalRow =
      if (isLeft) {
        isLeft = false
        row
      } else throw new NoSuchElementException("the record has one row")
  }

  private def placeIn(position: ShardPosition): Option[(SequenceNumber, Long)] = position match {
    case ShardPosition.Within(number, place) => Some(number -> place)
    case _                                   => None
  }

  private val log = LoggerFactory.getLogger(classOf[RecordRows])
}
