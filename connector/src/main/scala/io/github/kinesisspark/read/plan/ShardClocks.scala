package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.ShardClocks._

/** How far each shard has been read in time, by the readers' reports, and which shards have stopped.
  *
  * A shard that is behind and brings nothing holds the others back where it was last seen, but not without end: after
  * a patience without any progress (its reads fail, say) the others continue without it, until it brings something. Patience passes
  * only while a batch is planned: while one runs, no shard is waited for, and a full executor may have had no room for its records.
  *
  * @param seen        by shard, those included that ended in the last batch: their children begin at their time
  * @param pausedNanos how long batches have run, all together
  * @param lastNanos   the last look, by the driver's clock
  */
final case class ShardClocks(
    seen: Map[ShardKey, Observed] = Map.empty,
    pausedNanos: Long = 0,
    lastNanos: Option[Long] = None
) {

  /** Before a batch is planned.
    *
    * @param reading where each shard of the batch continues
    * @param parents of the shards that enter with it
    * @param kept    shards that are in the offset still
    */
  def begin(
      reading: collection.Map[ShardKey, ShardPosition],
      parents: ShardKey => Iterable[ShardKey],
      kept: ShardKey => Boolean,
      nowNanos: Long
  ): ShardClocks = {
    val paused   = pausedNanos + lastNanos.fold(0L)(nowNanos - _)
    val entering =
      reading.iterator.filterNot { case (shard, _) => seen.contains(shard) }.map { case (shard, position) =>
        val inherited = parents(shard).flatMap(seen.get).map(_.admitted).filter(_ != WatermarkAlignment.Unknown)
        val starting  = Some(position).collect { case ShardPosition.AtTimestamp(ms) => ms }
        val time      = inherited.maxOption.orElse(starting).getOrElse(WatermarkAlignment.Unknown)
        shard -> Observed(time, time, nowNanos - paused)
      }
    val all = seen ++ entering
    // Where nothing is to be forgotten, the map of ten thousand shards stays as it is.
    val present =
      if (all.size == reading.size) all
      else all.filter { case (shard, _) => reading.contains(shard) || kept(shard) }
    ShardClocks(present, paused, Some(nowNanos))
  }

  /** With the newest reports.
    *
    * @param reached of each reader, the time up to which it has read; one that has just been opened again knows none, and
    *                begins at the time that the batches have reached
    */
  def afterReports(reached: IterableOnce[(ShardKey, Option[Long])], nowNanos: Long): ShardClocks =
    copy(
      seen = seen ++ (for {
        (shard, reported) <- reached.iterator
        last              <- seen.get(shard)
        time = reported.getOrElse(last.admitted) if time != last.reached
      } yield shard -> last.copy(reached = time, sinceNanos = nowNanos - pausedNanos)),
      lastNanos = Some(nowNanos)
    )

  /** With the times that a batch reaches. */
  def admit(newest: IterableOnce[(ShardKey, Long)]): ShardClocks =
    copy(seen = seen ++ (for {
      (shard, time) <- newest.iterator
      last          <- seen.get(shard) if time > last.admitted
    } yield shard -> last.copy(admitted = time)))

  /** When the first record of a shard's children may have arrived, once a batch has taken the shard to its end. [[begin]] has them start there.
    *
    * @param newest the latest arrival in what that batch takes of the shard
    */
  def childrenBegin(shard: ShardKey, newest: Option[Long]): Long =
    (seen.get(shard).map(_.admitted) ++ newest).maxOption.getOrElse(WatermarkAlignment.Unknown)

  /** The earliest arrival that is still expected from a shard that is behind, or nothing where it is not waited for any more.
    *
    * @param patienceNanos how long it may bring nothing; nothing where it holds something, and so need not bring more
    */
  def earliestPending(shard: ShardKey, patienceNanos: Option[Long], nowNanos: Long): Option[Long] =
    seen.get(shard) match {
      case None       => Some(WatermarkAlignment.Unknown)
      case Some(last) => Option.when(patienceNanos.forall(nowNanos - pausedNanos - last.sinceNanos < _))(last.reached)
    }
}

object ShardClocks {

  /** @param admitted   what arrived before it is in batches; in ms by the service's times of arrival
    * @param reached    what arrived before it is read
    * @param sinceNanos when `reached` last changed, by a clock that stands still while batches run
    */
  final case class Observed(admitted: Long, reached: Long, sinceNanos: Long)
}
