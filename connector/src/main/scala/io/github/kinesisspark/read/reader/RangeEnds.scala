package io.github.kinesisspark.read.reader

import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtSequenceNumber, ShardEnd, Within}
import io.github.kinesisspark.position.{SequenceNumber, ShardPosition}

/** Which records belong to a range, and whether those at its ends are there: one that begins or ends with a record has lost records if that one is
  * missing. All that read a range decide by this: readers with a stop, buffers, tasks of micro-batches, batch reads and real-time batches. Pure.
  *
  * {{{
  * a range that begins, or ends    has its beginning, or end, if
  * at or within a record           that record is there
  * after a record                  its end: that record is there. Its beginning is always there
  * before a record                 its beginning: that record is there. Its end: that record, or one after it, was seen behind the range's records
  * elsewhere                       always
  * }}}
  */
private[read] object RangeEnds {

  /** How far an answer comes in a range. */
  sealed trait Reach
  case object Before extends Reach
  case object AtEnd  extends Reach

  /** Beyond the range's end, and the record there is gone. */
  case object Passed extends Reach

  /** @param first of the range's records that are there */
  def hasFirst(start: ShardPosition, first: Option[SequenceNumber]): Boolean = start match {
    case AtSequenceNumber(n) => first.contains(n)
    case Within(n, _)        => first.contains(n)
    case _                   => true
  }

  /** Where the range ends before a record ([[ShardPosition.AtSequenceNumber]]), only the records behind it show that.
    *
    * @param last of the range's records that are there
    */
  def hasLast(end: ShardPosition, last: Option[SequenceNumber]): Boolean = end match {
    case AfterSequenceNumber(n) => last.contains(n)
    case Within(n, _)           => last.contains(n)
    case _                      => true
  }

  /** Those of an answer's records that come before the range's end. A record that is only in part before it belongs to them. */
  def before(end: ShardPosition, records: Array[KinesisRecord]): Array[KinesisRecord] = end match {
    case AfterSequenceNumber(n) => prefix(records)(_ <= n)
    case Within(n, _)           => prefix(records)(_ <= n)
    case AtSequenceNumber(n)    => prefix(records)(_ < n)
    case _                      => records
  }

  /** @param records of the answer, also those behind the range
    * @param until   where the answer ends
    */
  def reach(end: ShardPosition, records: Array[KinesisRecord], until: ShardPosition): Reach =
    end.record.fold[Reach](if (until == end) AtEnd else Before)(reach(_, records, until))

  private def reach(end: SequenceNumber, records: Array[KinesisRecord], until: ShardPosition) =
    if (until != ShardEnd && records.lastOption.forall(_.sequenceNumber < end)) Before
    else if (records.exists(_.sequenceNumber == end)) AtEnd
    else Passed

  /** Mostly all of them, which the last one shows. */
  private def prefix(records: Array[KinesisRecord])(isBefore: SequenceNumber => Boolean) =
    if (records.lastOption.forall(last => isBefore(last.sequenceNumber))) records
    else records.takeWhile(record => isBefore(record.sequenceNumber))
}
