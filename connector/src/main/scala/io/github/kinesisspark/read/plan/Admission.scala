package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.ShardKey

/** How much of what the readers hold goes into the next batch.
  *
  * A limit is shared evenly: a shard that has less than its share takes all it has, and the others divide the rest. What
  * is taken of a shard is a prefix, so both limits hold at once and the order within a shard is kept.
  */
object Admission {

  /** @param maxRecords records per batch; @param maxBytes bytes of data and keys per batch */
  final case class Limits(maxRecords: Option[Long], maxBytes: Option[Long]) {
    def bind(records: Long, bytes: Long): Boolean = maxRecords.exists(records > _) || maxBytes.exists(bytes > _)

    /** What they leave to others once so much is taken; nothing at all when one of them is used up. */
    def without(records: Long, bytes: Long): Limits =
      Limits(maxRecords.map(_ - records).map(_.max(0)), maxBytes.map(_ - bytes).map(_.max(0)))
  }

  object Limits {
    val none: Limits = Limits(None, None)
  }

  /** What a reader holds beyond the batch's start. */
  final case class Available(shard: ShardKey, records: Long, bytes: Long) {
    def whole: Allotment = Allotment(shard, records, bytes)
  }

  /** What may be taken of one shard: the longest prefix within all three numbers.
    *
    * @param maxArrival the latest arrival to take, in ms by the service's clock
    */
  final case class Allotment(shard: ShardKey, maxRecords: Long, maxBytes: Long, maxArrival: Long = Long.MaxValue)

  /** The allotments of the shards that get anything, or nothing where all of it fits.
    *
    * @param turn grows from batch to batch: it says whose turn it is when there is less than one record for each
    */
  def divide(available: Seq[Available], limits: Limits, turn: Long): Option[Vector[Allotment]] = {
    val holding = available.iterator.filter(_.records > 0).toVector
    Option.when(limits.bind(holding.map(_.records).sum, holding.map(_.bytes).sum)) {
      val (before, after) = holding.splitAt(if (holding.isEmpty) 0 else (turn.abs % holding.size).toInt)
      val inTurn          = after ++ before
      val records         = level(inTurn.map(_.records), limits.maxRecords)
      val bytes           = level(inTurn.map(_.bytes), limits.maxBytes)
      inTurn.indices.iterator
        .map(i => Allotment(inTurn(i).shard, records(i), bytes(i)))
        .filter(a => a.maxRecords > 0 && a.maxBytes > 0)
        .toVector
    }
  }

  /** Fills the wants up to one common level, so that their sum is `limit`; single units left over go to the first. */
  private[plan] def level(wants: IndexedSeq[Long], limit: Option[Long]): IndexedSeq[Long] = limit match {
    case Some(total) if wants.sum > total =>
      val granted = Array.fill(wants.size)(0L)
      // The smallest first: what they leave of their share goes to the rest.
      val order = wants.indices.sortBy(wants)
      var left  = total
      order.zipWithIndex.foreach { case (i, served) =>
        granted(i) = math.min(wants(i), left / (wants.size - served))
        left -= granted(i)
      }
      wants.indices.foreach { i =>
        if (left > 0 && granted(i) < wants(i)) {
          granted(i) += 1
          left -= 1
        }
      }
      granted.toVector
    case _ => wants
  }
}
