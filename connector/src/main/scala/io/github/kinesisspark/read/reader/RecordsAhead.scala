package io.github.kinesisspark.read.reader

import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.read.plan.{Boundaries, BoundarySpacing}

/** The part of a reader's buffer that comes after the batch that runs, and where the next batch can end in it. Both are made when somebody looks, and kept up
  * to date by what is appended, as most looks find little that is new.
  *
  * Not thread-safe: the reader guards it together with its buffer.
  */
private[reader] final class RecordsAhead {
  private var end        = Option.empty[ShardPosition]
  private var records    = Option.empty[RecordBuffer]
  private var boundaries = Option.empty[Boundaries]

  /** Where the batch ends that runs. None once its records are dropped. */
  def batchEnd: Option[ShardPosition] = end

  /** A batch begins to run that ends there. */
  def beginBatch(position: ShardPosition): Unit = {
    end = Some(position)
    forget()
  }

  /** No batch runs. */
  def forgetBatch(): Unit = {
    end = None
    forget()
  }

  /** The buffer begins at that position.
    *
    * @param isChanged it began elsewhere
    */
  def dropTo(position: ShardPosition, isChanged: Boolean): Unit = {
    if (end.contains(position)) end = None
    if (isChanged) forget()
  }

  /** The buffer has these too, as [[RecordBuffer.append]] takes them. */
  def append(added: Array[KinesisRecord], totals: RecordTotals, position: ShardPosition): Unit =
    // A buffer that had not reached the batch's end may have reached it now.
    if (records.exists(before => end.forall(_ == before.base))) {
      records = records.map(_.append(added, totals, position))
      boundaries = boundaries.map(_.add(new RecordBuffer.Packed(added), 0, added.length))
    } else forget()

  /** @param buffer all that the reader holds: where it doesn't reach the batch's end, all of it */
  def of(buffer: RecordBuffer): RecordBuffer = records.getOrElse {
    val now = end.flatMap(buffer.dropTo).getOrElse(buffer)
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
