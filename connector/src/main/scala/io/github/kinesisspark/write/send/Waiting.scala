package io.github.kinesisspark.write.send

/** A record that the service has not taken yet.
  *
  * @param refusedSince when it was first refused
  * @param tries        how often it was sent
  * @param lane         the shard at whose pace it was sent
  */
final case class Waiting(
    entry: Entry,
    refusedSince: Option[Long] = None,
    tries: Int = 0,
    lane: Option[String] = None
) {
  def via(shard: Option[String]): Waiting = if (lane == shard) this else copy(lane = shard)

  def sent: Waiting = copy(tries = tries + 1)

  def refused(now: Long): Waiting = if (refusedSince.isEmpty) copy(refusedSince = Some(now)) else this
}

/** The records of one PutRecords, in order. */
final case class Batch(records: Vector[Waiting], bytes: Long) {
  def entries: Vector[Entry] = records.map(_.entry)
  def lanes: Set[String]     = records.iterator.flatMap(_.lane).toSet
}
