package io.github.kinesisspark.read.reader

import java.util.concurrent.atomic.AtomicInteger

import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import io.github.kinesisspark.aws.ClientLease
import io.github.kinesisspark.config.{CallRetries, PollingOptions}
import io.github.kinesisspark.position.{ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.runtime.{Runtime, Worker}

/** Opens polling publishers.
  *
  * @param starts none for what is to be read at once
  */
final class PollingPublisherFactory(
    access: StreamArn => ReadingClient,
    worker: Worker,
    telemetry: PollingTelemetry,
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

/** A client for reading one stream.
  *
  * @param isAws     whether it calls AWS itself
  * @param hasWorked whether a call of it, or of another executor's for the same query, has ever succeeded
  * @param succeeded records that one has
  */
final case class ReadingClient(
    client: KinesisAsyncClient,
    retries: CallRetries,
    isAws: Boolean,
    hasWorked: () => Boolean,
    succeeded: () => Unit
)

object ReadingClient {
  def of(lease: ClientLease, elsewhere: () => Boolean = () => false): ReadingClient =
    ReadingClient(
      lease.client,
      lease.retries,
      lease.isAws,
      () => lease.hasWorked || elsewhere(),
      () => lease.succeeded()
    )
}
