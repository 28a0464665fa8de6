package io.github.kinesisspark.read.reader

import java.util.concurrent.CompletableFuture

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.Generators.number

/** A client of a stream in memory, for polling: it never changes, and answers at once, on the caller's thread.
  *
  * @param records of each shard, by its id
  */
final class MemoryKinesis(records: Map[String, Vector[String]]) extends KinesisAsyncClient {
  override def serviceName: String = "kinesis"
  override def close(): Unit       = ()

  override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] = {
    def place = numbers(request.shardId).indexOf(request.startingSequenceNumber)
    val from  = request.shardIteratorType match {
      case ShardIteratorType.TRIM_HORIZON          => 0
      case ShardIteratorType.AT_SEQUENCE_NUMBER    => place
      case ShardIteratorType.AFTER_SEQUENCE_NUMBER => place + 1
      case other                                   => throw new IllegalArgumentException(other.toString)
    }
    CompletableFuture.completedFuture(
      GetShardIteratorResponse.builder.shardIterator(s"${request.shardId}@$from").build
    )
  }

  override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
    val Array(shard, from) = request.shardIterator.split('@'): @unchecked
    val some               = records(shard).zip(numbers(shard)).slice(from.toInt, from.toInt + request.limit)
    val next               = from.toInt + some.size
    CompletableFuture.completedFuture(
      GetRecordsResponse.builder
        .records(some.map { case (text, number) => record(text, number) }.asJava)
        .nextShardIterator(s"$shard@$next")
        .millisBehindLatest(if (next == records(shard).size) 0L else 1000L)
        .build
    )
  }

  private def numbers(shard: String) = records(shard).indices.map(i => number(i + 1L).toString)

  private def record(text: String, number: String) = Record.builder
    .sequenceNumber(number)
    .partitionKey("key")
    .data(SdkBytes.fromUtf8String(text))
    .approximateArrivalTimestamp(java.time.Instant.ofEpochMilli(1000))
    .build
}
