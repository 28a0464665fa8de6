package io.github.kinesisspark.aggregation

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util

import scala.jdk.CollectionConverters._

import com.google.protobuf.{ByteString, InvalidProtocolBufferException}

import io.github.kinesisspark.aggregation.AggregatedRecord._
import io.github.kinesisspark.aggregation.Messages.{AggregatedRecord => Message}
import io.github.kinesisspark.position.{HashKey, HashKeyRange}

/** User records that grow into one Kinesis record in the KPL's format: four bytes that mark it, a message of Protocol Buffers,
  * and the message's MD5. Keys stand in tables, each once. A record is encoded when it is added, and leaves no object
  * behind. Mutable, for one owner.
  *
  * @see [[https://github.com/awslabs/amazon-kinesis-producer/blob/master/aggregation-format.md KPL Aggregated Record Format]]
  */
final class AggregatedRecord[R <: Packable] {
  private val partitionKeys    = new KeyTable(Message.PARTITION_KEY_TABLE_FIELD_NUMBER)
  private val explicitHashKeys = new KeyTable(Message.EXPLICIT_HASH_KEY_TABLE_FIELD_NUMBER)
  private val messages         = new MessageBytes
  private val added            = Vector.newBuilder[R]

  /** Called once, when no more are added. */
  def records: Vector[R] = added.result()

  /** The payload's. */
  def bytes: Int = Envelope + partitionKeys.bytes + explicitHashKeys.bytes + messages.length

  /** Its approximate size in memory, without the user records that it was made of. */
  def weight: Long = bytes.toLong + Overhead

  /** @return this */
  def add(record: R): AggregatedRecord[R] = {
    addUpTo(Int.MaxValue, record, record.partitionKey.getBytes(UTF_8)): Unit
    this
  }

  /** Adds a record, unless the payload would have more bytes than that with it.
    *
    * @param partitionKey the record's, in UTF-8
    * @return whether it was added
    */
  def addUpTo(maxBytes: Int, record: R, partitionKey: Array[Byte]): Boolean = {
    val hashKey    = record.explicitHashKey.fold[String](null)(_.toString)
    val hashBytes  = if (hashKey == null) NoBytes else hashKey.getBytes(UTF_8)
    val place      = partitionKeys.placeOf(record.partitionKey)
    val hashPlace  = if (hashKey == null) 0 else explicitHashKeys.placeOf(hashKey)
    val dataLength = record.data.length
    val hashField  = if (hashKey == null) 0 else 1 + MessageBytes.sizeOf(hashPlace)
    val length     = 1 + MessageBytes.sizeOf(place) + hashField + 1 + MessageBytes.sizeOf(dataLength) + dataLength
    val more       = 1L + MessageBytes.sizeOf(length) + length + partitionKeys.growth(place, partitionKey) +
      (if (hashKey == null) 0 else explicitHashKeys.growth(hashPlace, hashBytes))
    val isWithin = bytes + more <= maxBytes
    if (isWithin) {
      partitionKeys.add(place, record.partitionKey, partitionKey)
      if (hashKey != null) explicitHashKeys.add(hashPlace, hashKey, hashBytes)
      messages.ensure(more.toInt)
      messages.tag(Message.RECORDS_FIELD_NUMBER, MessageBytes.Bytes)
      messages.varint(length)
      messages.tag(Messages.Record.PARTITION_KEY_INDEX_FIELD_NUMBER, MessageBytes.Varint)
      messages.varint(place)
      if (hashKey != null) {
        messages.tag(Messages.Record.EXPLICIT_HASH_KEY_INDEX_FIELD_NUMBER, MessageBytes.Varint)
        messages.varint(hashPlace)
      }
      messages.tag(Messages.Record.DATA_FIELD_NUMBER, MessageBytes.Bytes)
      messages.varint(dataLength)
      messages.put(record.data)
      added += record
    }
    isWithin
  }

  def payload: Array[Byte] = {
    val out = new Array[Byte](bytes)
    var end = Magic.length
    System.arraycopy(Magic, 0, out, 0, end)
    for (part <- Seq(partitionKeys.table, explicitHashKeys.table, messages)) {
      part.copyTo(out, end)
      end += part.length
    }
    val md5 = MessageDigest.getInstance("MD5")
    md5.update(out, Magic.length, end - Magic.length)
    md5.digest(out, end, DigestBytes): Unit
    out
  }
}

object AggregatedRecord {

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
      * sees that in the answer, and puts them into their own shard again.
      */
    def within(shard: HashKeyRange): Vector[Placed] = {
      val isAll = shard == HashKeyRange.all
      val ends  = new HashKeys(Array(shard.start, shard.end))
      val hash  = new RecordHash
      val own   = Vector.newBuilder[Placed]
      var place = 0L
      records.foreach { record =>
        if (!isAll) hash.read(record, record.partitionKey.getBytes(UTF_8))
        if (isAll || (ends.compare(0, hash) <= 0 && ends.compare(1, hash) >= 0)) own += Placed(record, place)
        place += 1
      }
      own.result()
    }
  }

  /** @param place of the user record among all of its Kinesis record, from 0 */
  final case class Placed(record: UserRecord, place: Long)

  /** By its first bytes and its MD5, so that it costs nothing for other data. */
  def isAggregated(payload: Array[Byte]): Boolean =
    isMarked(payload) && payload.length > Envelope && isWhole(payload)

  /** Never fails, whatever the payload is. */
  def read(payload: Array[Byte]): Content =
    if (!isMarked(payload)) Plain
    else if (payload.length <= Envelope) Damaged(s"its ${payload.length} bytes are too few")
    else if (!isWhole(payload)) Damaged("its MD5 is another")
    else
      try aggregated(Message.parser.parseFrom(payload, Magic.length, payload.length - Envelope))
      catch { case e: InvalidProtocolBufferException => Damaged(s"its message can't be read: ${e.getMessage}") }

  private def aggregated(message: Message): Content = {
    val table                            = message.getPartitionKeyTableList
    val explicitHashKeys                 = message.getExplicitHashKeyTableList.asScala.map(HashKey.parse).toVector
    def hasKeys(record: Messages.Record) =
      isIn(table.size, record.getPartitionKeyIndex) && (!record.hasExplicitHashKeyIndex ||
        isIn(explicitHashKeys.size, record.getExplicitHashKeyIndex))
    def isTooLong(key: ByteString) = key.size > MostKeyBytes
    val records                    = message.getRecordsList.asScala
    if (!records.forall(hasKeys)) Damaged("a record's key is missing in its tables")
    else if (explicitHashKeys.contains(None)) Damaged("an explicit hash key in it is not a number of 128 bits")
    else if (table.asByteStringList.asScala.exists(isTooLong)) Damaged("a partition key in it is longer than any")
    else {
      // Each once: the list makes a text anew for each record that has it, where its bytes are no UTF-8.
      val partitionKeys = table.asByteStringList.asScala.map(_.toStringUtf8).toVector
      Aggregated(records.iterator.map { record =>
        UserRecord(
          record.getData.toByteArray,
          partitionKeys(record.getPartitionKeyIndex.toInt),
          if (record.hasExplicitHashKeyIndex) explicitHashKeys(record.getExplicitHashKeyIndex.toInt) else None
        )
      }.toVector)
    }
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
  private val NoBytes             = Array.emptyByteArray

  /** Tables of keys that are empty. */
  private val Overhead = 1000L

  /** The service takes keys of 256 characters. Anybody may put records with longer ones into an aggregated record, which the service doesn't look into. */
  private val MostKeyBytes = 4 * 256
}
