package io.github.kinesisspark.aggregation

import java.io.ByteArrayOutputStream
import java.security.MessageDigest
import java.util

import scala.jdk.CollectionConverters._

import com.google.protobuf.{CodedOutputStream, InvalidProtocolBufferException, UnsafeByteOperations}

import io.github.kinesisspark.aggregation.AggregatedRecord._
import io.github.kinesisspark.aggregation.Messages.{AggregatedRecord => Message}
import io.github.kinesisspark.position.{HashKey, HashKeyRange}

/** User records that share one Kinesis record in the KPL's format: four bytes that mark it, a message of Protocol Buffers,
  * and the message's MD5. Keys stand in tables, each once. Immutable: adding makes another one.
  *
  * @see [[https://github.com/awslabs/amazon-kinesis-producer/blob/master/aggregation-format.md KPL Aggregated Record Format]]
  */
final class AggregatedRecord[+R <: Packable] private (
    val records: Vector[R],
    messages: Vector[Messages.Record],
    partitionKeys: KeyTable,
    explicitHashKeys: KeyTable,
    messageBytes: Int
) {

  /** The payload's. */
  def bytes: Int = Envelope + messageBytes

  def add[S >: R <: Packable](record: S): AggregatedRecord[S] = {
    val message   = Messages.Record.newBuilder.setData(UnsafeByteOperations.unsafeWrap(record.data))
    val (key, in) = partitionKeys.indexOf(record.partitionKey)
    message.setPartitionKeyIndex(key.toLong)
    val hashed = record.explicitHashKey.fold(explicitHashKeys) { explicitHashKey =>
      val (key, in) = explicitHashKeys.indexOf(explicitHashKey.toString)
      message.setExplicitHashKeyIndex(key.toLong)
      in
    }
    val built = message.build
    val size  = CodedOutputStream.computeMessageSize(Message.RECORDS_FIELD_NUMBER, built)
    val keys  = in.bytes - partitionKeys.bytes + hashed.bytes - explicitHashKeys.bytes
    new AggregatedRecord(records :+ record, messages :+ built, in, hashed, messageBytes + size + keys)
  }

  def payload: Array[Byte] = {
    val message = Message.newBuilder
      .addAllPartitionKeyTable(partitionKeys.keys.asJava)
      .addAllExplicitHashKeyTable(explicitHashKeys.keys.asJava)
      .addAllRecords(messages.asJava)
      .build
      .toByteArray
    val out = new ByteArrayOutputStream(bytes)
    out.write(Magic)
    out.write(message)
    out.write(MessageDigest.getInstance("MD5").digest(message))
    out.toByteArray
  }
}

object AggregatedRecord {
  def empty[R <: Packable]: AggregatedRecord[R] = new AggregatedRecord[R](
    Vector.empty,
    Vector.empty,
    KeyTable.empty(Message.PARTITION_KEY_TABLE_FIELD_NUMBER),
    KeyTable.empty(Message.EXPLICIT_HASH_KEY_TABLE_FIELD_NUMBER),
    0
  )

  /** What the data of a Kinesis record is. */
  sealed trait Content extends Product with Serializable

  /** The producer's own data: nothing in it is the KPL's. */
  case object Plain extends Content

  /** It begins as an aggregated record and is none, for its producer's data or because it was damaged on the way. */
  final case class Damaged(why: String) extends Content

  /** Possibly none: then it only holds keys. */
  final case class Aggregated(records: Vector[UserRecord]) extends Content {

    /** The records that belong to a shard, each with its place among all, which begins at 0.
      *
      * Others got into the shard when its stream was resharded between their aggregation and their arrival: their producer
      * learns that from the answer, and puts them into their own shard again.
      */
    def within(shard: HashKeyRange): Vector[(UserRecord, Long)] = {
      val placed = records.zipWithIndex.map { case (record, place) => record -> place.toLong }
      if (shard == HashKeyRange.all) placed else placed.filter { case (record, _) => shard.contains(record.hashKey) }
    }
  }

  /** Never fails, whatever the payload is. */
  def read(payload: Array[Byte]): Content =
    if (!isMarked(payload)) Plain
    else if (payload.length <= Envelope) Damaged(s"its ${payload.length} bytes are too few")
    else if (!isWhole(payload)) Damaged("its MD5 is another")
    else
      try aggregated(Message.parser.parseFrom(payload, Magic.length, payload.length - Envelope))
      catch { case e: InvalidProtocolBufferException => Damaged(s"its message can't be read: ${e.getMessage}") }

  private def aggregated(message: Message): Content = {
    val partitionKeys                    = message.getPartitionKeyTableList
    val explicitHashKeys                 = message.getExplicitHashKeyTableList.asScala.map(HashKey.parse).toVector
    def hasKeys(record: Messages.Record) =
      isIn(partitionKeys.size, record.getPartitionKeyIndex) && (!record.hasExplicitHashKeyIndex ||
        isIn(explicitHashKeys.size, record.getExplicitHashKeyIndex))
    val records = message.getRecordsList.asScala
    if (!records.forall(hasKeys)) Damaged("a record's key is missing in its tables")
    else if (explicitHashKeys.contains(None)) Damaged("an explicit hash key in it is not a number of 128 bits")
    else
      Aggregated(records.iterator.map { record =>
        UserRecord(
          record.getData.toByteArray,
          partitionKeys.get(record.getPartitionKeyIndex.toInt),
          if (record.hasExplicitHashKeyIndex) explicitHashKeys(record.getExplicitHashKeyIndex.toInt) else None
        )
      }.toVector)
  }

  private def isIn(size: Int, index: Long) = 0 <= index && index < size

  private def isMarked(payload: Array[Byte]) =
    payload.length >= Magic.length && util.Arrays.equals(payload, 0, Magic.length, Magic, 0, Magic.length)

  private def isWhole(payload: Array[Byte]) = {
    val end = payload.length - DigestBytes
    val md5 = MessageDigest.getInstance("MD5")
    md5.update(payload, Magic.length, end - Magic.length)
    util.Arrays.equals(payload, end, payload.length, md5.digest(), 0, DigestBytes)
  }

  /** What the data of every aggregated record begins with. */
  private[kinesisspark] val Magic = Array(0xf3, 0x89, 0x9a, 0xc2).map(_.toByte)
  private val DigestBytes         = 16
  private val Envelope            = Magic.length + DigestBytes
}

/** The keys of one field, in the order in which they came.
  *
  * @param bytes they take in the message
  */
private final case class KeyTable(field: Int, keys: Vector[String], places: Map[String, Int], bytes: Int) {

  /** Where a key stands, and the table that has it. */
  def indexOf(key: String): (Int, KeyTable) = places.get(key) match {
    case Some(place) => place -> this
    case None        =>
      val more = bytes + CodedOutputStream.computeStringSize(field, key)
      keys.size -> copy(keys = keys :+ key, places = places + (key -> keys.size), bytes = more)
  }
}

private object KeyTable {
  def empty(field: Int): KeyTable = KeyTable(field, Vector.empty, Map.empty, 0)
}
