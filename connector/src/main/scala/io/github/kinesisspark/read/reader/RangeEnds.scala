package io.github.kinesisspark.read.reader

import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtSequenceNumber, Within}
import io.github.kinesisspark.position.{SequenceNumber, ShardPosition}

/** Whether the records at the ends of a range are there: one that begins or ends with a record has lost records if that one is missing. All that
  * read a range decide by this. Pure.
  */
private[read] object RangeEnds {

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
}
