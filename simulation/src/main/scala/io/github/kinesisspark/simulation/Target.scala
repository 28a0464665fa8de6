package io.github.kinesisspark.simulation

import scala.collection.mutable

import io.github.kinesisspark.aggregation.AggregatedRecord
import io.github.kinesisspark.position.HashKey

/** The stream that queries write to, at the service. It keeps of each row how often it was stored, and when first.
  *
  * It leaves out: reshards, limits by bytes.
  *
  * @param stream           its shards; records are kept here
  * @param recordsPerSecond of a shard
  */
final class Target(val stream: Kinesis, recordsPerSecond: Int) {
  import Target._

  private val rates = stream.open.map(_ -> new Kinesis.Rate(recordsPerSecond))
  private val all   = mutable.HashMap.empty[String, Copy]
  private var rows  = 0L
  private var puts  = 0L

  def stored(row: String): Option[Copy] = all.get(row)

  /** @param data of one row, or of several as the KPL aggregates them: readers of the shard leave out rows with the keys of other shards
    * @return the shard and the sequence number; nothing where the shard's limit is used up
    */
  def put(hashKey: BigInt, data: Array[Byte]): Option[(String, BigInt)] =
    rates.find(_._1.keys.contains(hashKey)).filter(_._2.take(stream.now)).map { case (shard, _) =>
      puts += 1
      val its = AggregatedRecord.read(data) match {
        case several: AggregatedRecord.Aggregated => several.within(shard.keys).map(_.record.data)
        case _                                    => Vector(data)
      }
      its.map(new String(_)).foreach { row =>
        rows += 1
        all(row) = all.get(row).fold(Copy(rows, Vector.empty))(copy => copy.copy(again = copy.again :+ puts))
      }
      (shard.id, BigInt(puts))
    }
}

object Target {
  val StreamName = "copies"

  /** @param first its place among all rows of the stream
    * @param again the numbers of the records by which it was stored again
    */
  final case class Copy(first: Long, again: Vector[Long])

  /** Another attempt writes other rows, so that each can be judged by itself. */
  def copyOf(row: Row, attempt: Long): String = s"${row.stream} ${row.data}@$attempt"

  def keyOf(row: Row): String = s"key-${row.data.hashCode.abs % 7}"

  /** As the service has it. */
  def hashKeyOf(key: String, explicitHashKey: Option[String]): BigInt =
    explicitHashKey.fold(HashKey.of(key))(BigInt(_))
}
