package io.github.kinesisspark.read.reader

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.unsafe.types.UTF8String
import software.amazon.awssdk.services.kinesis.model.Record

import io.github.kinesisspark.aws.DamagedAnswer
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, Within}
import io.github.kinesisspark.position.{SequenceNumber, ShardPosition}

/** One record of an answer. Buffers hold millions of them, so what it consists of lies in a few arrays of the whole answer, which the
  * garbage collector needn't copy: [[AnswerRecords]]. Each accessor that returns an object makes a new one.
  */
final class KinesisRecord private[reader] (answer: AnswerRecords, index: Int) {
  def sequenceNumber: SequenceNumber = SequenceNumber(new String(answer.bytes, numberFrom, numberLength, ISO_8859_1))

  /** Null where the stream distributes records itself and the producer gave none. */
  def partitionKey: String = if (hasKey) new String(answer.bytes, keyFrom, keyLength, UTF_8) else null

  def data: Array[Byte] = answer.separate match {
    case Some(arrays) => arrays(index)
    case None         => util.Arrays.copyOfRange(answer.bytes, dataFrom, answer.dataEnds(index))
  }

  /** The service's approximate time of arrival. */
  def arrivalMillis: Long = answer.arrivals(index)

  /** What the service's and our limits count: data and key. */
  def size: Long = dataLength.toLong + keyLength

  /** What it takes of the heap, roughly: number, places and array entries come on top of the data. */
  def heapSize: Long = size + KinesisRecord.Overhead

  /** Without copying the data. */
  def startsWith(prefix: Array[Byte]): Boolean = dataLength >= prefix.length && (answer.separate match {
    case Some(arrays) => util.Arrays.equals(arrays(index), 0, prefix.length, prefix, 0, prefix.length)
    case None         => util.Arrays.equals(answer.bytes, dataFrom, dataFrom + prefix.length, prefix, 0, prefix.length)
  })

  /** A view of the answer's bytes, to be used at once; null without a key. */
  def partitionKeyText: UTF8String = if (hasKey) UTF8String.fromBytes(answer.bytes, keyFrom, keyLength) else null

  /** A view of the answer's bytes, to be used at once. */
  def sequenceNumberText: UTF8String = UTF8String.fromBytes(answer.bytes, numberFrom, numberLength)

  // In the answer's bytes, one after the other: data, unless it is kept separately; key; number.
  private def dataFrom     = if (index == 0) 0 else answer.numberEnds(index - 1)
  private def dataLength   = answer.separate.fold(answer.dataEnds(index) - dataFrom)(arrays => arrays(index).length)
  private def keyFrom      = answer.dataEnds(index)
  private def hasKey       = answer.keyEnds(index) >= 0
  private def keyLength    = if (hasKey) answer.keyEnds(index) - keyFrom else 0
  private def numberFrom   = keyFrom + keyLength
  private def numberLength = answer.numberEnds(index) - numberFrom
}

object KinesisRecord {

  /** Of the heap. */
  val Overhead: Long = 120

  /** By [[KinesisRecord.size]]. */
  def bytesOf(records: Array[KinesisRecord]): Long = {
    // A loop without boxes: it runs over every record that is read.
    var total = 0L
    var i     = 0
    while (i < records.length) {
      total += records(i).size
      i += 1
    }
    total
  }

  /** By [[KinesisRecord.heapSize]]. */
  def heapOf(records: Array[KinesisRecord]): Long = bytesOf(records) + records.length * Overhead

  /** An answer of one record. */
  def apply(
      sequenceNumber: SequenceNumber,
      partitionKey: String,
      data: Array[Byte],
      arrivalMillis: Long
  ): KinesisRecord =
    AnswerRecords.pack(Array(AnswerRecords.Unpacked(data, partitionKey, sequenceNumber, arrivalMillis))).head

  /** The records of an answer that come after a position. What answers and subscriptions continue at must not go back; one
    * that does (LocalStack's may, at a shard's first record) repeats nothing here.
    *
    * @throws DamagedAnswer where something is missing in them, or they are out of order
    */
  def after(position: ShardPosition, answered: util.List[Record]): Array[KinesisRecord] = DamagedAnswer.unlessRead {
    val all                                 = answered.asScala.iterator.map(unpacked)
    val isBefore: SequenceNumber => Boolean = position match {
      case AfterSequenceNumber(last) => _ <= last
      case Within(number, _)         => _ < number
      case _                         => _ => false
    }
    val after = all.dropWhile(record => isBefore(record.sequenceNumber)).toArray
    checkOrder(after)
    AnswerRecords.pack(after)
  }

  private def checkOrder(records: Array[AnswerRecords.Unpacked]): Unit = {
    var i = 1
    while (i < records.length) {
      val (before, after) = (records(i - 1).sequenceNumber, records(i).sequenceNumber)
      if (before >= after) throw new DamagedAnswer(s"Record $after comes after $before")
      i += 1
    }
  }

  private def unpacked(r: Record) = AnswerRecords.Unpacked(
    DamagedAnswer.has(r.data, "Data of a record").asByteArrayUnsafe,
    r.partitionKey,
    SequenceNumber
      .parse(r.sequenceNumber)
      .getOrElse(throw new DamagedAnswer(s"'${r.sequenceNumber}' is not a record's number")),
    DamagedAnswer.has(r.approximateArrivalTimestamp, "ApproximateArrivalTimestamp of a record").toEpochMilli
  )
}

/** Records of one answer as a few arrays. Objects that survive young collections are copied one by one, several times; a few arrays cost a fraction
  * of that.
  *
  * @param bytes      data, key and number of each record, one after the other
  * @param dataEnds   where each record's data ends
  * @param keyEnds    where its key ends; negative without a key
  * @param numberEnds where its sequence number ends, in digits
  * @param separate   the data, where records are so large that copying them costs more than it saves
  */
private[reader] final class AnswerRecords(
    val bytes: Array[Byte],
    val dataEnds: Array[Int],
    val keyEnds: Array[Int],
    val numberEnds: Array[Int],
    val arrivals: Array[Long],
    val separate: Option[Array[Array[Byte]]]
)

private[reader] object AnswerRecords {

  /** Bytes of records that share their arrays. Half of a region of G1's smallest size, 1 MiB, or more would need neighbouring regions of
    * its own, and a heap of which much is in use has few of them.
    */
  private val PartBytes = 256 << 10

  /** Records with more bytes of data keep the array that it came in. */
  private val LargeRecord = 16 << 10

  /** A record before it is packed. */
  final case class Unpacked(
      data: Array[Byte],
      partitionKey: String,
      sequenceNumber: SequenceNumber,
      arrivalMillis: Long
  )

  def pack(records: Array[Unpacked]): Array[KinesisRecord] = {
    val packed = new Array[KinesisRecord](records.length)
    var from   = 0
    while (from < records.length) {
      val isLarge = records(from).data.length > LargeRecord
      var until   = from
      var bytes   = 0
      while (
        until < records.length && (until == from || bytes < PartBytes) &&
        (records(until).data.length > LargeRecord) == isLarge
      ) {
        bytes += packedLength(records(until), isLarge)
        until += 1
      }
      val part = arraysOf(records, from, until, bytes, isLarge)
      var i    = from
      while (i < until) {
        packed(i) = new KinesisRecord(part, i - from)
        i += 1
      }
      from = until
    }
    packed
  }

  /** As far as its key is ASCII. */
  private def packedLength(record: Unpacked, isLarge: Boolean) =
    (if (isLarge) 0 else record.data.length) + (if (record.partitionKey == null) 0 else record.partitionKey.length) +
      record.sequenceNumber.text.length

  private def arraysOf(all: Array[Unpacked], from: Int, until: Int, length: Int, isLarge: Boolean): AnswerRecords = {
    val dataEnds                      = new Array[Int](until - from)
    val keyEnds                       = new Array[Int](until - from)
    val numberEnds                    = new Array[Int](until - from)
    val arrivals                      = new Array[Long](until - from)
    val separate                      = if (isLarge) Some(new Array[Array[Byte]](until - from)) else None
    var bytes                         = new Array[Byte](length)
    var end                           = 0
    def put(added: Array[Byte]): Unit = {
      if (end + added.length > bytes.length) bytes = util.Arrays.copyOf(bytes, (end + added.length) * 5 / 4)
      System.arraycopy(added, 0, bytes, end, added.length)
      end += added.length
    }
    var i = 0
    while (i < until - from) {
      val record = all(from + i)
      separate match {
        case Some(arrays) => arrays(i) = record.data
        case None         => put(record.data)
      }
      dataEnds(i) = end
      if (record.partitionKey == null) keyEnds(i) = -1
      else {
        put(record.partitionKey.getBytes(UTF_8))
        keyEnds(i) = end
      }
      put(record.sequenceNumber.text.getBytes(ISO_8859_1))
      numberEnds(i) = end
      arrivals(i) = record.arrivalMillis
      i += 1
    }
    new AnswerRecords(bytes, dataEnds, keyEnds, numberEnds, arrivals, separate)
  }
}
