package io.github.kinesisspark.aws

import software.amazon.awssdk.services.kinesis.model.GetShardIteratorRequest

import io.github.kinesisspark.position.{ShardKey, ShardPosition}

/** The call that begins to read a shard at a position.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetShardIterator.html GetShardIterator]] (5 calls/s per shard)
  */
private[kinesisspark] object ShardIterators {

  /** @throws java.lang.IllegalStateException at the shard's end, which nothing follows */
  def at(shard: ShardKey, position: ShardPosition): GetShardIteratorRequest.Builder = {
    val start = ReadingStart.at(position)
    GetShardIteratorRequest.builder
      .streamARN(shard.stream.text)
      .shardId(shard.shardId)
      .shardIteratorType(start.kind)
      .timestamp(start.time.orNull)
      .startingSequenceNumber(start.number.orNull)
  }
}
