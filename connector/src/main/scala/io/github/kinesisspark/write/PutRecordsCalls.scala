package io.github.kinesisspark.write

import java.util.concurrent.CompletableFuture

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.jdk.DurationConverters._
import scala.util.control.NonFatal

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model.{PutRecordsRequest, PutRecordsRequestEntry}

import io.github.kinesisspark.aws.{
  AwsCall,
  BlockingCalls,
  ClientKind,
  ClientLease,
  DamagedAnswer,
  FaultClassifier,
  KinesisFault,
  Regions,
  ResponseFilter,
  SdkDecoding,
  ShardFilter,
  StreamDirectory
}
import io.github.kinesisspark.config.{ClientOptions, StreamRef}
import io.github.kinesisspark.position.Shard
import io.github.kinesisspark.runtime.SessionClasses
import io.github.kinesisspark.write.send.{CallAnswer, Entry}

/** The calls of one task.
  *
  * @param options    of each stream's client, with the region of those without an ARN
  * @param hasWritten whether some executor has written for this query before: then a host that can't be found here is an outage, and no mistake
  * @param isKilled   whether Spark has killed the task
  */
private[write] final class PutRecordsCalls(
    options: StreamRef => ClientOptions,
    hasWritten: Boolean,
    isKilled: () => Boolean,
    writers: WriterRuntime
) extends AutoCloseable {
  import writers.runtime

  // A timer's thread may make the first call to a stream, with a provider of credentials that the session has.
  private val classes = new SessionClasses
  private val leases  = mutable.Map.empty[StreamRef, ClientLease]

  /** @throws KinesisException where there can't be a client */
  def put(stream: StreamRef, entries: Vector[Entry]): CompletableFuture[CallAnswer] = {
    val to = lease(stream)
    PutRecordsCall(to.client, stream, entries, () => to.hasWorked)
  }

  /** The stream's shards, closed ones too. Blocks.
    *
    * @throws KinesisException               of the fault's class
    * @throws java.lang.InterruptedException where the task was killed, or the thread interrupted
    */
  def shards(stream: StreamRef): Vector[Shard] = {
    val from      = lease(stream)
    val directory = new StreamDirectory(from.client, BlockingCalls.of(from).copy(isNew = true))
    writers.unlessKilled(isKilled)(directory.listShards(stream, ShardFilter.All).shards)
  }

  override def close(): Unit = leases.values.foreach(_.close())

  private def lease(stream: StreamRef): ClientLease = leases.getOrElseUpdate(
    stream, {
      val client = options(stream)
      val lease  =
        classes.in(writers.clients.lease(client, Regions.resolve(stream, client, _ => None), ClientKind.Writes))
      if (hasWritten) lease.succeeded()
      lease
    }
  )
}

/** One PutRecords call, and what its answer means.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html PutRecords]]
  */
private[kinesisspark] object PutRecordsCall {

  /** Makes the call at once, and never throws. The future's value says of each record whether it was taken, or that the call as a whole
    * failed. Cancelling the future cancels the call.
    *
    * @param hasWorked whether a call of this client has succeeded, evaluated when this one is answered
    */
  def apply(
      client: KinesisAsyncClient,
      stream: StreamRef,
      entries: Vector[Entry],
      hasWorked: () => Boolean
  ): CompletableFuture[CallAnswer] =
    try {
      val body = new PutResultExtractor
      val call = DamagedAnswer.unlessRead(client.putRecords(request(stream, entries, body))) { answer =>
        body.leftToSdk.foreach(SdkDecoding.report(AwsCall.PutRecords, s"stream $stream", _))
        body.of(answer, entries.size)
      }
      val answer = call.handle[CallAnswer] { (results, error) =>
        if (error == null) CallAnswer.PerRecord(results) else failed(stream, error, hasWorked())
      }
      // A task that is killed must not upload beside its retry.
      val _ = answer.whenComplete((_, _) => if (answer.isCancelled) call.cancel(true): Unit)
      answer
    } catch { case NonFatal(e) => CompletableFuture.completedFuture(failed(stream, e, hasWorked())) }

  private val Timeout = ClientKind.Writes.CallTimeout.toJava

  private def request(stream: StreamRef, entries: Vector[Entry], body: PutResultExtractor): PutRecordsRequest = {
    val request = PutRecordsRequest.builder
      .records(entries.map(recordOf).asJava)
      .overrideConfiguration(ResponseFilter.configuration(body).apiCallTimeout(Timeout).build)
    stream match {
      case StreamRef.ByName(name) => request.streamName(name).build
      case StreamRef.ByArn(arn)   => request.streamARN(arn.text).build
    }
  }

  private def recordOf(entry: Entry): PutRecordsRequestEntry = PutRecordsRequestEntry.builder
    .partitionKey(entry.partitionKey)
    .explicitHashKey(entry.explicitHashKey.fold[String](null)(_.toString))
    // It never changes: each row's data was copied out of the row.
    .data(SdkBytes.fromByteArrayUnsafe(entry.data))
    .build

  private def failed(stream: StreamRef, error: Throwable, hasWorked: Boolean): CallAnswer = {
    val fault = FaultClassifier.classify(error)
    CallAnswer.Failed(fault, hasWorked, KinesisFault.exception(AwsCall.PutRecords, s"stream $stream", fault))
  }
}
