package io.github.kinesisspark.read.plan

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
    def minus(records: Long, bytes: Long): Limits =
      Limits(maxRecords.map(_ - records).map(_.max(0)), maxBytes.map(_ - bytes).map(_.max(0)))
  }

  object Limits {
    val none: Limits = Limits(None, None)
  }

  /** What a reader holds beyond the batch's start. */
  final case class Available(records: Long, bytes: Long) {
    def all: Allotment = Allotment(records, bytes)
  }

  object Available {
    val nothing: Available = Available(0, 0)
  }

  /** What may be taken of one shard: the longest prefix within all three numbers.
    *
    * @param maxArrival the latest arrival to take, in ms by the service's clock
    */
  final case class Allotment(maxRecords: Long, maxBytes: Long, maxArrival: Long = Long.MaxValue)

  object Allotment {
    val nothing: Allotment = Allotment(0, 0)
  }

  /** The allotment of each shard, or nothing where all of it fits.
    *
    * @param fairnessOffset grows from batch to batch: it says whose turn it is when there is less than one record for each
    */
  def divide(available: IndexedSeq[Available], limits: Limits, fairnessOffset: Long): Option[Vector[Allotment]] = {
    val records = available.iterator.map(_.records).toArray
    val bytes   = available.iterator.map(_.bytes).toArray
    Option.when(limits.bind(records.sum, bytes.sum)) {
      val first        = firstServed(available, fairnessOffset)
      val (most, size) = (level(records, limits.maxRecords, first), level(bytes, limits.maxBytes, first))
      Vector.tabulate(available.size)(i =>
        if (most(i) > 0 && size(i) > 0) Allotment(most(i), size(i)) else Allotment.nothing
      )
    }
  }

  /** The place of the shard whose turn it is, of those that have anything; 0 where none has. */
  def firstServed(available: IndexedSeq[Available], fairnessOffset: Long): Int = {
    val holding = available.indices.filter(available(_).records > 0)
    if (holding.isEmpty) 0 else holding((fairnessOffset.abs % holding.size).toInt)
  }

  /** Fills the wants up to one common level, so that their sum is `limit`; single units left over go to the first.
    *
    * @param first the place of the first, after which the others follow around
    */
  private def level(wants: Array[Long], limit: Option[Long], first: Int): Array[Long] = limit match {
    case Some(total) if wants.sum > total =>
      val ascending = wants.sorted
      var left      = total
      var served    = 0
      // The smallest first: what they leave of their share goes to the rest.
      while (ascending(served) <= left / (wants.length - served)) {
        left -= ascending(served)
        served += 1
      }
      val share   = left / (wants.length - served)
      var single  = left % (wants.length - served)
      val granted = new Array[Long](wants.length)
      wants.indices.foreach { n =>
        val i = (first + n) % wants.length
        if (wants(i) <= share) granted(i) = wants(i)
        else if (single > 0) {
          granted(i) = share + 1
          single -= 1
        } else granted(i) = share
      }
      granted
    case _ => wants
  }
}
