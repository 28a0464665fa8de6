package io.github.kinesisspark.read.reader

import java.util.concurrent.atomic.AtomicInteger

import io.github.kinesisspark.config.PollingOptions
import io.github.kinesisspark.position.{ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.runtime.{Runtime, Worker}

/** Opens polling publishers.
  *
  * @param starts none for what is to be read at once
  */
final class PollingPublisherFactory(
    access: StreamArn => ReadingClient,
    worker: Worker,
    telemetry: ReaderTelemetry,
    starts: Option[StartSchedule],
    options: PollingOptions
)(implicit runtime: Runtime)
    extends RecordPublisher.Factory {

  private val opened = new AtomicInteger

  override def open(shard: ShardKey, position: ShardPosition, sink: RecordPublisher.Sink): RecordPublisher = {
    val reach = access(shard.stream)
    opened.incrementAndGet(): Unit
    new PollingRecordPublisher(
      shard,
      position,
      starts.fold(runtime.clock.nanos())(_.next()),
      options,
      () => opened.get,
      () => opened.decrementAndGet(): Unit,
      reach,
      worker,
      telemetry,
      sink
    )
  }
}
