package io.github.kinesisspark.read.shard

import java.util.concurrent.ScheduledExecutorService
import java.util.concurrent.atomic.AtomicInteger

import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import io.github.kinesisspark.position.{ShardKey, ShardPosition, StreamArn}

/** Opens polling publishers that share a memory budget.
  *
  * @param starts         none for what is to be read at once
  * @param callsPerSecond of each shard, at most
  */
final class PollingPublishers(
    client: StreamArn => KinesisAsyncClient,
    worker: ScheduledExecutorService,
    memory: MemoryBudget,
    telemetry: PollingTelemetry,
    starts: Option[StartSchedule],
    callsPerSecond: Int
) extends RecordPublisher.Factory {

  private val opened = new AtomicInteger

  override def open(shard: ShardKey, position: ShardPosition, sink: RecordPublisher.Sink): RecordPublisher = {
    val now = System.nanoTime()
    opened.incrementAndGet(): Unit
    new PollingRecordPublisher(
      shard,
      position,
      starts.fold(now)(_.next(now)),
      PollingPace.of(callsPerSecond),
      () => opened.get,
      () => opened.decrementAndGet(): Unit,
      client(shard.stream),
      worker,
      memory,
      telemetry,
      sink
    )
  }
}
