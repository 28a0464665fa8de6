package io.github.kinesisspark.write.send

import scala.collection.immutable.Queue

/** Records that wait in order, with their number and bytes known. */
private[send] final case class Line(records: Queue[Waiting] = Queue.empty, count: Int = 0, bytes: Long = 0) {
  def isEmpty: Boolean = count == 0

  def head: Waiting = records.head

  def tail: Line = Line(records.tail, count - 1, bytes - head.entry.size)

  def :+(record: Waiting): Line = Line(records.enqueue(record), count + 1, bytes + record.entry.size)

  def prepended(before: Vector[Waiting]): Line =
    if (before.isEmpty) this
    else Line(records.prependedAll(before), count + before.size, bytes + before.iterator.map(_.entry.size.toLong).sum)
}
