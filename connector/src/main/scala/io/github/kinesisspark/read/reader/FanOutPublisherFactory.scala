package io.github.kinesisspark.read.reader

import scala.concurrent.duration._

import io.github.kinesisspark.aws.{AwsCall, RetryPolicy}
import io.github.kinesisspark.config.CallRetries
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
  import FanOutPublisherFactory._

  override def open(shard: ShardKey, position: ShardPosition, sink: RecordPublisher.Sink): RecordPublisher = {
    val reach = access(shard.stream)
    new FanOutRecordPublisher(
      shard,
      position,
      starts.next(),
      publisher.consumers(shard.stream),
      reach.client,
      FanOutRecordPublisher.Experience(reach.hasWorked, reach.succeeded),
      policyOf(reach.retries),
      worker,
      telemetry,
      pollers.open(shard, _, _),
      isNamedSince(shard, _),
      sink
    )
  }
}

object FanOutPublisherFactory {

  def policyOf(retries: CallRetries): Subscription.Policy = {
    val retry = RetryPolicy.of(AwsCall.SubscribeToShard, retries)
    Subscription.Policy(
      // Within it the client waits for a connection, and the service for its own.
      openWithin = 60.seconds,
      // Seven of the service's empty events are missing then.
      silence = 35.seconds,
      // So long lives the subscription that brings it.
      longestEvent = 5.minutes,
      spacing = 1.second,
      // A consumer that was registered a moment ago is not known everywhere yet.
      retry = retry.copy(notFoundRetries = retry.maxRetries.getOrElse(RetryPolicy.SuspectRetries)),
      takeovers = 3,
      settledIn = 15.seconds
    )
  }
}
