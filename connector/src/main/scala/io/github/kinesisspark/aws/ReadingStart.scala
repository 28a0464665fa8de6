package io.github.kinesisspark.aws

import java.time.Instant

import software.amazon.awssdk.services.kinesis.model.{GetShardIteratorRequest, ShardIteratorType}

import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.position.ShardPosition._

/** A position as the service takes it, in GetShardIterator and SubscribeToShard alike.
  *
  * @param time   of AT_TIMESTAMP alone
  * @param number of AT_SEQUENCE_NUMBER and AFTER_SEQUENCE_NUMBER
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_StartingPosition.html StartingPosition]]
  */
private[kinesisspark] final case class ReadingStart(
    kind: ShardIteratorType,
    time: Option[Instant],
    number: Option[String]
)

private[kinesisspark] object ReadingStart {

  /** @throws java.lang.IllegalStateException for a shard's end, which nothing follows */
  def at(position: ShardPosition): ReadingStart = position match {
    case TrimHorizon            => ReadingStart(ShardIteratorType.TRIM_HORIZON, None, None)
    case AtTimestamp(ms)        => ReadingStart(ShardIteratorType.AT_TIMESTAMP, Some(Instant.ofEpochMilli(ms)), None)
    case AtSequenceNumber(n)    => ReadingStart(ShardIteratorType.AT_SEQUENCE_NUMBER, None, Some(n.text))
    case Within(n, _)           => at(AtSequenceNumber(n))
    case AfterSequenceNumber(n) => ReadingStart(ShardIteratorType.AFTER_SEQUENCE_NUMBER, None, Some(n.text))
    case ShardEnd               => throw new IllegalStateException("a shard is read to its end, nothing can follow")
  }
}

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
