package io.github.kinesisspark.read.shard

import java.util.concurrent.ScheduledExecutorService

import scala.concurrent.duration._

import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import io.github.kinesisspark.aws.Backoff
import io.github.kinesisspark.config.RetryOptions
import io.github.kinesisspark.position.{ShardKey, ShardPosition, StreamArn}

/** Opens fan-out publishers that share a memory budget. As each subscription lasts five minutes, those that are opened apart stay
  * apart.
  *
  * @param pollers finish closed shards whose subscriptions don't
  */
final class FanOutPublishers(
    publication: Publication.FanOut,
    client: StreamArn => KinesisAsyncClient,
    worker: ScheduledExecutorService,
    memory: MemoryBudget,
    telemetry: FanOutTelemetry,
    starts: StartSchedule,
    pollers: RecordPublisher.Factory
) extends RecordPublisher.Factory {
  import FanOutPublishers._

  private val policy = policyOf(publication.retry)

  override def open(shard: ShardKey, position: ShardPosition, sink: RecordPublisher.Sink): RecordPublisher =
    new FanOutRecordPublisher(
      shard,
      position,
      starts.next(System.nanoTime()),
      publication.consumers(shard.stream),
      client(shard.stream),
      policy,
      worker,
      memory,
      telemetry,
      pollers.open(shard, _, _),
      sink
    )
}

object FanOutPublishers {

  /** @param retry of failed subscriptions, `efo.subscribeToShard.*` */
  def policyOf(retry: RetryOptions): Subscription.Policy = {
    val backoff = Backoff.of(retry)
    Subscription.Policy(
      // Within it the client waits for a connection, and the service for its own.
      openWithin = 60.seconds,
      // Seven of the service's empty events are missing then.
      silence = 35.seconds,
      spacing = 1.second,
      retries = retry.maxRetries,
      patience = PollingRecordPublisher.PatienceWithFailures,
      takeovers = 3,
      settledIn = 15.seconds,
      pause = (n, random) => backoff.delay(n + 1, random)
    )
  }
}
