package io.github.kinesisspark.simulation

import scala.collection.mutable

import io.github.kinesisspark.position.HashKey

/** The stream that queries write to, at the service. It keeps of each record how often it was stored, and when first.
  *
  * It leaves out: reshards, limits by bytes.
  *
  * @param recordsPerSecond of a shard
  */
final class Target(shardCount: Int, recordsPerSecond: Int, now: () => Long) {
  import Target._

  private val rates = Vector.fill(shardCount)(new Kinesis.Rate(recordsPerSecond))
  private val all   = mutable.HashMap.empty[String, Copy]
  private var count = 0L

  def stored(data: String): Option[Copy] = all.get(data)

  /** @return the shard and the sequence number; nothing where the shard's limit is used up */
  def put(key: String, data: String): Option[(String, BigInt)] = {
    val shard = (HashKey.of(key) * shardCount / (HashKey.Last + 1)).toInt
    Option.when(rates(shard).take(now())) {
      count += 1
      all(data) = all.get(data).fold(Copy(1, count))(copy => copy.copy(times = copy.times + 1))
      (f"shardId-$shard%012d", BigInt(count))
    }
  }
}

object Target {
  val StreamName = "copies"

  /** @param times how often it was stored
    * @param first its place among all records of the stream
    */
  final case class Copy(times: Int, first: Long)

  /** Another attempt writes other records, so that each can be judged by itself. */
  def copyOf(row: Row, attempt: Long): String = s"${row.stream} ${row.data}@$attempt"

  def keyOf(row: Row): String = s"key-${row.data.hashCode.abs % 7}"
}
