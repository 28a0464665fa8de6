package io.github.kinesisspark.read.reader

import java.util.concurrent.CompletableFuture

import org.reactivestreams.{Subscriber, Subscription => Flow}
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.core.async.SdkPublisher
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.Generators.number
import io.github.kinesisspark.aws.OfflineClient

/** A client without a service: each call is what a test makes of it, and by default brings one record more. */
class StubKinesis extends OfflineClient {
  private var made = 0L

  /** Of answers to GetRecords. */
  @volatile var millisBehind = 0L

  override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
    CompletableFuture.completedFuture(GetShardIteratorResponse.builder.shardIterator("iterator").build)

  override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
    CompletableFuture.completedFuture(
      GetRecordsResponse.builder
        .records(nextRecord())
        .nextShardIterator("iterator")
        .millisBehindLatest(millisBehind)
        .build
    )

  override def subscribeToShard(
      request: SubscribeToShardRequest,
      handler: SubscribeToShardResponseHandler
  ): CompletableFuture[Void] = {
    val events: SdkPublisher[SubscribeToShardEventStream] = (s: Subscriber[? >: SubscribeToShardEventStream]) =>
      s.onSubscribe(new Flow {
        override def request(n: Long): Unit = s.onNext(nextEvent())
        override def cancel(): Unit         = ()
      })
    handler.onEventStream(events)
    new CompletableFuture[Void]
  }

  private def nextEvent(): SubscribeToShardEventStream = {
    val record = nextRecord()
    SubscribeToShardEventStream
      .subscribeToShardEventBuilder()
      .records(record)
      .continuationSequenceNumber(record.sequenceNumber)
      .millisBehindLatest(0L)
      .build()
  }

  private def nextRecord(): Record = synchronized {
    made += 1
    Record.builder
      .sequenceNumber(number(made).toString)
      .partitionKey("key")
      .data(SdkBytes.fromUtf8String("data"))
      .approximateArrivalTimestamp(java.time.Instant.ofEpochMilli(1000 + made))
      .build
  }
}
