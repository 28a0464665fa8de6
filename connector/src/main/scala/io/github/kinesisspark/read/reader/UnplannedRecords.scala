package io.github.kinesisspark.read.reader

import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.read.plan.{Boundaries, BoundarySpacing}

/** The part of a reader's buffer that no batch is planned with yet, and where a batch of it can end. Both are made when somebody looks, and kept up to date by
  * what is appended, as most looks find little that is new.
  *
  * Not thread-safe: the reader guards it together with its buffer.
  */
private[reader] final class UnplannedRecords {
  private var planned    = Option.empty[ShardPosition]
  private var records    = Option.empty[RecordBuffer]
  private var boundaries = Option.empty[Boundaries]

  /** Where the planned batch ends, while there is one. */
  def start: Option[ShardPosition] = planned

  /** A batch is planned that ends there. */
  def plan(end: ShardPosition): Unit = {
    planned = Some(end)
    forget()
  }

  /** No batch is planned. */
  def startAnew(): Unit = {
    planned = None
    forget()
  }

  /** The buffer begins at that position.
    *
    * @param isChanged it began elsewhere
    */
  def dropTo(position: ShardPosition, isChanged: Boolean): Unit = {
    if (planned.contains(position)) planned = None
    if (isChanged) forget()
  }

  /** The buffer has these too, as [[RecordBuffer.append]] takes them. */
  def append(added: Array[KinesisRecord], totals: RecordTotals, position: ShardPosition): Unit =
    // A buffer that had not reached the planned end may have reached it now.
    if (records.exists(before => planned.forall(_ == before.base))) {
      records = records.map(_.append(added, totals, position))
      boundaries = boundaries.map(_.add(new RecordBuffer.Packed(added), 0, added.length))
    } else forget()

  /** @param buffer all that the reader holds: where it doesn't reach the planned end, all of it */
  def of(buffer: RecordBuffer): RecordBuffer = records.getOrElse {
    val now = planned.flatMap(buffer.dropTo).getOrElse(buffer)
    records = Some(now)
    now
  }

  def boundariesOf(buffer: RecordBuffer, spacing: BoundarySpacing): Boundaries = {
    val now = boundaries.filter(_.spacing == spacing).getOrElse(of(buffer).boundaries(spacing))
    boundaries = Some(now)
    now
  }

  /** The buffer has changed otherwise. */
  def forget(): Unit = {
    records = None
    boundaries = None
  }
}
