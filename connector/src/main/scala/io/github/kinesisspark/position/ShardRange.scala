package io.github.kinesisspark.position

/** What a batch reads of one shard: everything after `start`, up to and with `end`. Fixed before the batch runs.
  *
  * @param end a record's number that the range ends with ([[ShardPosition.AfterSequenceNumber]]), or the shard's end
  */
final case class ShardRange(shard: ShardKey, start: ShardPosition, end: ShardPosition)
