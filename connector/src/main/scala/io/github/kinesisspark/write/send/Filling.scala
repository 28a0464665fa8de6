package io.github.kinesisspark.write.send

import scala.annotation.tailrec

/** A call that is put together: first the turns of lanes, then fresh records, within the limits of a call.
  *
  * @param records of lanes and without
  * @param refused a record found no room
  */
private[send] final case class Filling(
    lanes: Lanes,
    limits: SizeLimits,
    now: Long,
    records: Vector[Waiting] = Vector.empty,
    bytes: Long = 0,
    refused: Boolean = false
) {
  def hasTurns: Boolean = records.exists(_.lane.nonEmpty)

  def full: Filling = copy(refused = true)

  def isFull: Boolean = refused || records.sizeIs >= SizeLimits.MaxRecords || bytes >= limits.callBytes

  /** As much of what waits in a lane as its turn and the call have room for. */
  @tailrec def turnOf(shard: String): Filling = {
    val lane = lanes.byShard(shard)
    lane.waiting.headOption match {
      case Some(record) if lane.isDue(now) && lane.hasRoom && fits(record) =>
        withTurn(shard, _.copy(waiting = lane.waiting.tail), record).turnOf(shard)
      case _ => this
    }
  }

  /** With a fresh record, or with it parked in its lane; none if the call has no room. */
  def offer(record: Waiting): Option[Filling] = lanes.of(record.entry) match {
    case None        => Option.when(fits(record))(plus(record.via(None)))
    case Some(shard) =>
      val lane = lanes.byShard(shard)
      if (lane.isDue(now) && lane.waiting.isEmpty && lane.hasRoom)
        Option.when(fits(record))(withTurn(shard, identity, record))
      else Some(copy(lanes = lanes.parked(shard, record)))
  }

  def batch: Option[Batch] = Option.when(records.nonEmpty)(Batch(records.map(_.sent), bytes))

  /** With the turns on their way. */
  def departed: Lanes = lanes.copy(byShard = lanes.byShard.map { case (shard, lane) => shard -> lane.depart(now) })

  private def fits(record: Waiting) = records.isEmpty || {
    val size = record.entry.size
    records.sizeIs < SizeLimits.MaxRecords && bytes + size <= limits.callBytes &&
    !limits.isProbe(size) && !limits.isProbe(records.head.entry.size)
  }

  private def withTurn(shard: String, change: Lane => Lane, record: Waiting) =
    copy(lanes = lanes.updated(shard, lane => change(lane).take(record))).plus(record.via(Some(shard)))

  private def plus(record: Waiting) = copy(records = records :+ record, bytes = bytes + record.entry.size)
}
