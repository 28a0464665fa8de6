package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.KinesisOffset

/** A batch that has its end. Pure.
  *
  * @param start  the end of the batch before
  * @param end    with the times up to which it is complete
  * @param slices nothing for a batch that comes from the offset log after a restart
  */
final case class PlannedBatch(start: KinesisOffset, end: KinesisOffset, slices: BatchSlices) {
  def isOf(start: KinesisOffset, end: KinesisOffset): Boolean = this.start == start && this.end == end
}
