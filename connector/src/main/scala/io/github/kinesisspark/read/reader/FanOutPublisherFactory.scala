package io.github.kinesisspark.read.reader

import io.github.kinesisspark.position.{ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.runtime.{Runtime, Worker}

/** Opens fan-out publishers. As each subscription lasts five minutes, those that are opened apart stay
  * apart.
  *
  * @param pollers      finish closed shards whose subscriptions don't
  * @param isNamedSince whether the driver has named the shard's reader since then, by the clock of this process
  */
final class FanOutPublisherFactory(
    publisher: ResolvedPublisher.FanOut,
    access: StreamArn => ReadingClient,
    worker: Worker,
    telemetry: FanOutTelemetry,
    starts: StartSchedule,
    pollers: RecordPublisher.Factory,
    isNamedSince: (ShardKey, Long) => Boolean
)(implicit runtime: Runtime)
    extends RecordPublisher.Factory {
  override def open(shard: ShardKey, position: ShardPosition, sink: RecordPublisher.Sink): RecordPublisher =
    new FanOutRecordPublisher(
      shard,
      position,
      starts.next(),
      publisher.consumers(shard.stream),
      access(shard.stream),
      worker,
      telemetry,
      pollers.open(shard, _, _),
      isNamedSince(shard, _),
      sink
    )
}
