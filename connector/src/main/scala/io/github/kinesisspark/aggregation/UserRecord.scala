package io.github.kinesisspark.aggregation

import io.github.kinesisspark.position.HashKey

/** What can be packed with others into one Kinesis record: something that a producer writes. */
trait Packable {
  def data: Array[Byte]
  def partitionKey: String

  /** Decides in place of the partition key which shard it goes to; from 0 to [[HashKey.Last]]. */
  def explicitHashKey: Option[BigInt]

  /** Which shard it belongs to: the one whose range has this key. */
  lazy val hashKey: BigInt = explicitHashKey.getOrElse(HashKey.of(partitionKey))
}

/** A record as its producer made it, which the KPL packs with others into one Kinesis record. */
final case class UserRecord(data: Array[Byte], partitionKey: String, explicitHashKey: Option[BigInt] = None)
    extends Packable
