package io.github.kinesisspark.read.plan

import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.position.ShardKey

/** How far a batch goes beyond what readers hold that stand still for lack of room: so far that the shards give it in the time between two
  * triggers, at the service's 2 MB/s each, and a quarter more: what a reader has read so far lets expect how the records are spread over the
  * time, roughly, and a batch that is too long only delays the next trigger, where one that is too short leaves the shards idle.
  */
object LongTrigger {

  /** A shard whose reader is behind.
    *
    * @param bytes  of what it holds, all of which is in the batch
    * @param room   bytes it may hold
    * @param oldest arrival of what it holds, in ms by the service's clock
    * @param newest arrival of what it holds
    */
  final case class Behind(shard: ShardKey, bytes: Long, room: Long, oldest: Long, newest: Long)

  /** When the last record arrived, about, that each shard is to bring; only of those that are to bring more than they hold.
    *
    * @param stretch how much more than is to be expected, as the last batch has shown
    * @param starved shards that hold nothing, because others hold all memory: they go as far as the one that ends first
    * @param toCome of the other shards, the earliest arrivals that others must not run ahead of
    */
  def times(
      interval: FiniteDuration,
      stretch: Double,
      behind: Vector[Behind],
      starved: Vector[ShardKey],
      toCome: Iterable[Long],
      alignment: WatermarkAlignment
  ): Map[ShardKey, Long] = {
    val wanted       = BytesPerSecond * interval.toMillis / 1000 * 5 / 4
    val (more, rest) = behind.partition(b => b.bytes > 0 && wanted > b.room && wanted > b.bytes)
    val each   = more.map(b => b -> (b.oldest + (b.newest - b.oldest).max(1L) * (stretch * wanted / b.bytes)).toLong)
    val latest = alignment.horizon(each.map(_._2) ++ rest.map(_.newest) ++ toCome)
    val times  = each.collect {
      case (b, time) if latest.forall(_ > b.newest) => b.shard -> latest.fold(time)(_.min(time))
    }.toMap
    times ++ times.values.minOption.fold(Map.empty[ShardKey, Long])(first => starved.map(_ -> first).toMap)
  }

  /** @see [[https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html Kinesis: quotas and limits]] */
  private val BytesPerSecond = 2L << 20
}
