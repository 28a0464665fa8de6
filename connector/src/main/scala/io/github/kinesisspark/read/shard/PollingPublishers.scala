package io.github.kinesisspark.read.shard

import java.util.concurrent.ScheduledExecutorService

import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import io.github.kinesisspark.position.{ShardKey, ShardPosition, StreamArn}

/** Opens polling publishers that share a memory budget. */
final class PollingPublishers(
    client: StreamArn => KinesisAsyncClient,
    worker: ScheduledExecutorService,
    memory: MemoryBudget
) extends RecordPublisher.Factory {

  override def open(shard: ShardKey, position: ShardPosition, sink: RecordPublisher.Sink): RecordPublisher =
    new PollingRecordPublisher(shard, position, client(shard.stream), worker, memory, sink)
}
