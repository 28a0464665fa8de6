package io.github.kinesisspark.position

/** What a batch reads of one shard: everything from `start` to `end`. Fixed before the batch runs.
  *
  * @param end a record's number that the range ends with ([[ShardPosition.AfterSequenceNumber]]) or before
  *            ([[ShardPosition.AtSequenceNumber]]) or in ([[ShardPosition.Within]]), or the shard's end
  */
final case class ShardRange(shard: ShardKey, start: ShardPosition, end: ShardPosition)
