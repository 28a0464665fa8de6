package io.github.kinesisspark.read.shard

import java.util.concurrent.ScheduledExecutorService

import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import io.github.kinesisspark.position.{ShardKey, ShardPosition, StreamArn}

/** Opens polling publishers that share a memory budget.
  *
  * @param starts none for what is to be read at once
  */
final class PollingPublishers(
    client: StreamArn => KinesisAsyncClient,
    worker: ScheduledExecutorService,
    memory: MemoryBudget,
    starts: Option[StartSchedule]
) extends RecordPublisher.Factory {

  override def open(shard: ShardKey, position: ShardPosition, sink: RecordPublisher.Sink): RecordPublisher = {
    val now = System.nanoTime()
    new PollingRecordPublisher(
      shard,
      position,
      starts.fold(now)(_.next(now)),
      client(shard.stream),
      worker,
      memory,
      sink
    )
  }
}
