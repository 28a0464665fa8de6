package io.github.kinesisspark.write

import java.time.Duration
import java.util.concurrent.CompletableFuture

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model.{
  PutRecordsRequest,
  PutRecordsRequestEntry,
  PutRecordsResponse,
  PutRecordsResultEntry
}

import io.github.kinesisspark.aws.{
  ClientLease,
  Fault,
  FaultClassifier,
  KinesisClients,
  KinesisFault,
  Regions,
  ShardFilter,
  StreamDirectory
}
import io.github.kinesisspark.config.{ClientOptions, StreamRef}
import io.github.kinesisspark.position.Shard
import io.github.kinesisspark.write.send.{CallAnswer, CallFailure, Entry, RecordAnswer}

/** The calls of one task: each goes out at once and never throws; what became of it is its future's value.
  *
  * @param machineRegion for streams that nobody told the region of
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html PutRecords]]
  */
private[write] final class PutRecordsCalls(options: ClientOptions, machineRegion: Option[String])
    extends AutoCloseable {
  import PutRecordsCalls._

  private val leases = mutable.Map.empty[StreamRef, ClientLease]

  def put(stream: StreamRef, entries: Vector[Entry]): CompletableFuture[CallAnswer] =
    try
      client(stream).putRecords(request(stream, entries)).handle[CallAnswer] { (answer, error) =>
        if (error == null) CallAnswer.PerRecord(results(answer)) else failed(stream, error)
      }
    catch { case NonFatal(e) => CompletableFuture.completedFuture(failed(stream, e)) }

  /** The stream's shards, closed ones too. Blocks.
    *
    * @throws KinesisException of the fault's class
    */
  def shards(stream: StreamRef): Vector[Shard] =
    new StreamDirectory(client(stream)).listShards(stream, ShardFilter.All).shards

  override def close(): Unit = leases.values.foreach(_.close())

  private def client(stream: StreamRef): KinesisAsyncClient = leases
    .getOrElseUpdate(stream, KinesisClients.lease(options, Regions.resolve(stream, options, _ => machineRegion)))
    .client
}

private object PutRecordsCalls {

  // 10 MiB take this long on 2 Mbit/s.
  private val inTime = AwsRequestOverrideConfiguration.builder.apiCallTimeout(Duration.ofSeconds(60)).build

  private def request(stream: StreamRef, entries: Vector[Entry]): PutRecordsRequest = {
    val request = PutRecordsRequest.builder.records(entries.map(recordOf).asJava).overrideConfiguration(inTime)
    stream match {
      case StreamRef.ByName(name) => request.streamName(name).build
      case StreamRef.ByArn(arn)   => request.streamARN(arn.text).build
    }
  }

  private def recordOf(entry: Entry): PutRecordsRequestEntry = PutRecordsRequestEntry.builder
    .partitionKey(entry.partitionKey)
    .explicitHashKey(entry.explicitHashKey.fold[String](null)(_.toString))
    // Nobody changes it: each row's data was copied out of the row.
    .data(SdkBytes.fromByteArrayUnsafe(entry.data))
    .build

  private def results(answer: PutRecordsResponse): Vector[RecordAnswer] =
    answer.records.asScala.iterator.map { (result: PutRecordsResultEntry) =>
      if (result.errorCode == null) RecordAnswer.Taken(result.shardId)
      else RecordAnswer.Refused(result.errorCode, result.errorMessage)
    }.toVector

  private def failed(stream: StreamRef, error: Throwable): CallAnswer = {
    val fault = FaultClassifier.classify(error)
    CallAnswer.Failed(meaning(fault), KinesisFault.exception("PutRecords", s"stream $stream", fault))
  }

  private def meaning(fault: Fault): CallFailure = fault match {
    case _: Fault.Throttled                                        => CallFailure.Passing(throttled = true)
    case _: Fault.ResourceInUse                                    => CallFailure.Passing(throttled = false)
    case Fault.Transient(_, _, true)                               => CallFailure.Passing(throttled = false)
    case Fault.Transient(_, _, false)                              => CallFailure.Doubtful
    case _: Fault.InvalidArgument                                  => CallFailure.Invalid
    case Fault.Fatal(kind, _) if kind.errorClass == RequestRefused => CallFailure.Invalid
    case _: Fault.ExpiredIterator | _: Fault.ExpiredNextToken | _: Fault.NotFound | _: Fault.Cancelled |
        _: Fault.Fatal =>
      CallFailure.Hopeless
  }

  // What the service answers to a record that is too large.
  private val RequestRefused = "KINESIS_REQUEST_REFUSED"
}
