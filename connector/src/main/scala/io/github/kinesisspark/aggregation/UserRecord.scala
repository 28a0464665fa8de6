package io.github.kinesisspark.aggregation

import io.github.kinesisspark.position.HashKey

/** A record as its producer made it, which the KPL packs with others into one Kinesis record.
  *
  * @param explicitHashKey decides in place of the partition key which shard it goes to; from 0 to [[HashKey.Last]]
  */
final case class UserRecord(data: Array[Byte], partitionKey: String, explicitHashKey: Option[BigInt] = None) {

  /** Which shard it belongs to: the one whose range has this key. */
  lazy val hashKey: BigInt = explicitHashKey.getOrElse(HashKey.of(partitionKey))
}
