package io.github.kinesisspark.benchmarks.latency

import java.util.concurrent.{Executors, ScheduledExecutorService, TimeUnit}

import scala.jdk.CollectionConverters._

import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.model._

/** What the SDK alone can do, as plainly as it is written. */
object Raw {

  /** GetRecords of every shard, 5 times a second. */
  def polling(client: KinesisAsyncClient, stream: String): AutoCloseable = {
    val clock = Executors.newScheduledThreadPool(1)
    shards(client, stream).foreach { shard =>
      poll(client, clock, beginning(client, stream, shard))
    }
    () => clock.shutdownNow(): Unit
  }

  private def poll(client: KinesisAsyncClient, clock: ScheduledExecutorService, iterator: String): Unit = {
    val asked = System.nanoTime()
    client
      .getRecords(r => r.shardIterator(iterator): Unit)
      .thenAccept { answer =>
        answer.records.asScala.foreach(took)
        val wait = Interval - (System.nanoTime() - asked)
        if (!clock.isShutdown)
          clock.schedule(
            (() => poll(client, clock, answer.nextShardIterator)): Runnable,
            wait,
            TimeUnit.NANOSECONDS
          ): Unit
      }: Unit
  }

  /** SubscribeToShard of every shard. */
  def subscriber(client: KinesisAsyncClient, stream: String): AutoCloseable = {
    val arn = client.describeStreamSummary(r => r.streamName(stream): Unit).join().streamDescriptionSummary.streamARN
    val consumer = client
      .registerStreamConsumer(r => r.streamARN(arn).consumerName("raw"): Unit)
      .join()
      .consumer
      .consumerARN
    def status = client.describeStreamConsumer(r => r.consumerARN(consumer): Unit).join()
    while (status.consumerDescription.consumerStatus != ConsumerStatus.ACTIVE) Thread.sleep(100)
    val subscriptions = shards(client, stream).map { shard =>
      client.subscribeToShard(
        (r: SubscribeToShardRequest.Builder) =>
          r.consumerARN(consumer)
            .shardId(shard)
            .startingPosition(p => p.`type`(ShardIteratorType.TRIM_HORIZON): Unit): Unit,
        SubscribeToShardResponseHandler.builder
          .subscriber(SubscribeToShardResponseHandler.Visitor.builder.onSubscribeToShardEvent(seen).build)
          .build
      )
    }
    () => subscriptions.foreach(_.cancel(true): Unit)
  }

  private def seen(event: SubscribeToShardEvent): Unit = event.records.asScala.foreach(took)

  private def took(record: Record): Unit = Samples.arrived(Producer.timeOf(record.data.asByteArrayUnsafe))

  private[latency] def shards(client: KinesisAsyncClient, stream: String): Vector[String] =
    client.listShards(r => r.streamName(stream): Unit).join().shards.asScala.map(_.shardId).toVector

  /** The iterator at the shard's oldest record. */
  private[latency] def beginning(client: KinesisAsyncClient, stream: String, shard: String): String = client
    .getShardIterator(r => r.streamName(stream).shardId(shard).shardIteratorType(ShardIteratorType.TRIM_HORIZON): Unit)
    .join()
    .shardIterator

  private val Interval = TimeUnit.MILLISECONDS.toNanos(200)
}
