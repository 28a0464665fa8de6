package io.github.kinesisspark.read.plan

/** How far a shard may run ahead of the others.
  *
  * Spark's watermark follows the newest event, whichever shard it came from; what the other shards still have to bring
  * from before it is late, and dropped. So a batch ends in every shard at most `skewMillis` after the earliest arrival
  * that is still expected from any shard (the horizon). From shards that are caught up nothing old is expected. From the
  * children of a shard that ends in the batch, all that arrived after its last record is.
  *
  * @param skewMillis by the service's times of arrival; nothing turns it off
  */
final case class WatermarkAlignment(skewMillis: Option[Long]) {

  /** The latest arrival to take, or nothing where no shard holds others back.
    *
    * @param earliestPending of each shard that others wait for, the earliest arrival that is still expected from it
    */
  def horizon(earliestPending: IterableOnce[Long]): Option[Long] =
    for {
      skew     <- skewMillis
      earliest <- earliestPending.iterator.minOption
    } yield if (earliest > Long.MaxValue - skew) Long.MaxValue else earliest + skew

  /** Whether shards hold something and must wait with it for one that holds nothing yet.
    *
    * @param isStarved that one needs memory which the others hold. A part of what they hold would free little, so they wait until one of them
    *                  can be taken whole
    */
  def blocks(shards: Vector[WatermarkAlignment.Ahead], isStarved: Boolean): Boolean =
    horizon(shards.iterator.flatMap(_.earliestPending)).exists { to =>
      val held = shards.flatMap(shard => if (isStarved) shard.newest else shard.oldest)
      held.nonEmpty && held.forall(_ > to)
    }
}

object WatermarkAlignment {

  val off: WatermarkAlignment = WatermarkAlignment(None)

  /** What a shard's reader holds ahead of the batch, in ms by the service's times of arrival.
    *
    * @param oldest          what is held of it begins here; nothing where nothing is held
    * @param newest          and ends here
    * @param earliestPending the earliest arrival of what the reader has not read yet, or of the children of a shard that is read to its end, if
    *                        others wait for that; [[Unknown]] before anything is known of the shard
    */
  final case class Ahead(oldest: Option[Long], newest: Option[Long], earliestPending: Option[Long])

  /** Earlier than whatever there is. */
  val Unknown: Long = Long.MinValue
}
