package io.github.kinesisspark.aws

import java.time.Instant

import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.position.ShardPosition._
import software.amazon.awssdk.services.kinesis.model.{GetShardIteratorRequest, ShardIteratorType}

/** The call that begins to read a shard at a position.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetShardIterator.html GetShardIterator]] (5 calls/s per shard)
  */
private[kinesisspark] object ShardIterators {

  /** @throws java.lang.IllegalStateException at the shard's end, which nothing follows */
  def at(shard: ShardKey, position: ShardPosition): GetShardIteratorRequest.Builder = {
    val request = GetShardIteratorRequest.builder.streamARN(shard.stream.text).shardId(shard.shardId)
    position match {
      case TrimHorizon     => request.shardIteratorType(ShardIteratorType.TRIM_HORIZON)
      case AtTimestamp(ms) =>
        request.shardIteratorType(ShardIteratorType.AT_TIMESTAMP).timestamp(Instant.ofEpochMilli(ms))
      case AtSequenceNumber(n) =>
        request.shardIteratorType(ShardIteratorType.AT_SEQUENCE_NUMBER).startingSequenceNumber(n.text)
      case AfterSequenceNumber(n) =>
        request.shardIteratorType(ShardIteratorType.AFTER_SEQUENCE_NUMBER).startingSequenceNumber(n.text)
      case ShardEnd => throw new IllegalStateException(s"$shard is read to its end, nothing can follow")
    }
  }
}
