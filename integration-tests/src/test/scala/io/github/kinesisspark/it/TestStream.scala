package io.github.kinesisspark.it

import java.math.BigInteger
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.time.Instant

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model._

/** A stream under test, in the words of tests: each method is one call of the service or a plain loop of one. */
final class TestStream(val service: KinesisService, val name: String) {
  import service.call

  def summary(): StreamDescriptionSummary =
    call(_.describeStreamSummary(r => r.streamName(name))).streamDescriptionSummary

  def arn(): String = summary().streamARN

  def status(): StreamStatus = summary().streamStatus

  /** All shards that are listed, closed ones included. */
  def shards(): Seq[Shard] = call(_.listShards(r => r.streamName(name))).shards.asScala.toSeq

  def openShards(): Seq[Shard] = shards().filter(TestStream.isOpen).sortBy(s => TestStream.startingHash(s))

  def onlyShard(): Shard = openShards() match {
    case Seq(shard) => shard
    case several    => throw new AssertionError(s"$name has ${several.size} open shards, not one")
  }

  /** Splits a shard in the middle. Listings may lag behind it. */
  def split(shard: Shard): Unit = call(
    _.splitShard(r =>
      r.streamName(name).shardToSplit(shard.shardId).newStartingHashKey(TestStream.middleHash(shard).toString)
    )
  ): Unit

  /** Merges two neighbours. Listings may lag behind it. */
  def merge(one: Shard, other: Shard): Unit = call(
    _.mergeShards(r => r.streamName(name).shardToMerge(one.shardId).adjacentShardToMerge(other.shardId))
  ): Unit

  def put(data: String, partitionKey: String = "key"): PutRecordResponse = putBytes(data.getBytes(UTF_8), partitionKey)

  def putBytes(data: Array[Byte], partitionKey: String = "key"): PutRecordResponse =
    call(_.putRecord(r => r.streamName(name).partitionKey(partitionKey).data(SdkBytes.fromByteArray(data))))

  /** Puts records in one call; returns those that the service refused, which can be put again. */
  def putAll(records: Seq[PutRecordsRequestEntry]): Seq[PutRecordsRequestEntry] = {
    val answer = call(_.putRecords(r => r.streamName(name).records(records.asJava)))
    records.zip(answer.records.asScala).collect { case (record, result) if result.errorCode != null => record }
  }

  /** Puts where that hash key belongs, whatever the partition key. */
  def putAt(hashKey: BigInteger, data: String): PutRecordResponse =
    call(
      _.putRecord(r =>
        r.streamName(name).partitionKey("key").explicitHashKey(hashKey.toString).data(SdkBytes.fromUtf8String(data))
      )
    )

  def iterator(shardId: String, kind: ShardIteratorType)(
      more: GetShardIteratorRequest.Builder => GetShardIteratorRequest.Builder = identity
  ): String =
    call(
      _.getShardIterator { r => more(r.streamName(name).shardId(shardId).shardIteratorType(kind)); () }
    ).shardIterator

  def trimHorizon(shardId: String): String = iterator(shardId, ShardIteratorType.TRIM_HORIZON)()

  def latest(shardId: String): String = iterator(shardId, ShardIteratorType.LATEST)()

  def at(shardId: String, sequenceNumber: String): String =
    iterator(shardId, ShardIteratorType.AT_SEQUENCE_NUMBER)(_.startingSequenceNumber(sequenceNumber))

  def after(shardId: String, sequenceNumber: String): String =
    iterator(shardId, ShardIteratorType.AFTER_SEQUENCE_NUMBER)(_.startingSequenceNumber(sequenceNumber))

  def atTimestamp(shardId: String, time: Instant): String =
    iterator(shardId, ShardIteratorType.AT_TIMESTAMP)(_.timestamp(time))

  /** The first answer with records, or the one at the tip or at the shard's end. The service may answer without records
    * before.
    *
    * @see [[https://docs.aws.amazon.com/streams/latest/dev/troubleshooting-consumers.html Empty answers of GetRecords]]
    */
  def get(iterator: String): GetRecordsResponse = firstRecords(iterator, identity)

  def get(iterator: String, limit: Int): GetRecordsResponse = firstRecords(iterator, _.limit(limit))

  private def firstRecords(
      iterator: String,
      more: GetRecordsRequest.Builder => GetRecordsRequest.Builder
  ): GetRecordsResponse = {
    @tailrec def ask(iterator: String, left: Int): GetRecordsResponse = {
      val answer = call(_.getRecords { r => more(r.shardIterator(iterator)); () })
      if (!answer.records.isEmpty || answer.nextShardIterator == null || answer.millisBehindLatest == 0L) answer
      else if (left > 0) ask(answer.nextShardIterator, left - 1)
      else throw new AssertionError(s"$name: only empty answers before the tip; the last was $answer")
    }
    ask(iterator, TestStream.MaxAnswers)
  }

  /** Reads on from the iterator until the shard ends or an answer says that nothing is behind it. Like any reader that
    * knows its position it drops what it has had, because one of the servers repeats itself.
    *
    * @param position the sequence number of the last record that was read before
    */
  def drain(iterator: String, position: Option[String] = None): Seq[GetRecordsResponse] = {
    @tailrec def readOn(iterator: String, before: Vector[GetRecordsResponse]): Seq[GetRecordsResponse] = {
      val had     = before.flatMap(_.records.asScala).lastOption.map(_.sequenceNumber).orElse(position)
      val answers = before :+ TestStream.withoutThrough(had, get(iterator))
      val last    = answers.last
      if (last.nextShardIterator == null || (last.millisBehindLatest == 0L && last.records.isEmpty)) answers
      else if (answers.size < TestStream.MaxAnswers) readOn(last.nextShardIterator, answers)
      else throw new AssertionError(s"$name: after ${answers.size} answers still not at the end; the last was $last")
    }
    readOn(iterator, Vector.empty)
  }

  /** The text of all records from the iterator to the tip. */
  def texts(iterator: String): Seq[String] = drain(iterator).flatMap(TestStream.texts)
}

object TestStream {
  // More than any scenario has to read; a server that never comes to an end must not hang the run.
  private val MaxAnswers = 50

  val MaxHashKey: BigInteger = BigInteger.ONE.shiftLeft(128).subtract(BigInteger.ONE)

  def isOpen(shard: Shard): Boolean = shard.sequenceNumberRange.endingSequenceNumber == null

  def startingHash(shard: Shard): BigInteger = new BigInteger(shard.hashKeyRange.startingHashKey)

  def endingHash(shard: Shard): BigInteger = new BigInteger(shard.hashKeyRange.endingHashKey)

  def middleHash(shard: Shard): BigInteger = startingHash(shard).add(endingHash(shard)).shiftRight(1)

  def covers(shard: Shard, hashKey: BigInteger): Boolean =
    startingHash(shard).compareTo(hashKey) <= 0 && hashKey.compareTo(endingHash(shard)) <= 0

  /** Where the service puts a record with this key: MD5 of its UTF-8 bytes as an unsigned integer. */
  def hashOf(partitionKey: String): BigInteger =
    new BigInteger(1, MessageDigest.getInstance("MD5").digest(partitionKey.getBytes(UTF_8)))

  /** Asks for all records that a shard still holds. */
  def subscription(consumerArn: String, shardId: String): SubscribeToShardRequest = SubscribeToShardRequest.builder
    .consumerARN(consumerArn)
    .shardId(shardId)
    .startingPosition(p => p.`type`(ShardIteratorType.TRIM_HORIZON): Unit)
    .build

  private def withoutThrough(position: Option[String], answer: GetRecordsResponse): GetRecordsResponse =
    position.map(new BigInteger(_)).fold(answer) { last =>
      val fresh = answer.records.asScala.filter(r => new BigInteger(r.sequenceNumber).compareTo(last) > 0)
      answer.toBuilder.records(fresh.asJava).build()
    }

  def texts(answer: GetRecordsResponse): Seq[String] = answer.records.asScala.map(_.data.asUtf8String).toSeq
}
