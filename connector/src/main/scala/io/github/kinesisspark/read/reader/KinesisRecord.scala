package io.github.kinesisspark.read.reader

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util

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

  /** An answer of one record. */
  def apply(
      sequenceNumber: SequenceNumber,
      partitionKey: String,
      data: Array[Byte],
      arrivalMillis: Long
  ): KinesisRecord = {
    val builder = new AnswerRecords.Builder(1, data.length, AnswerRecords.textLength(partitionKey, sequenceNumber))
    builder.add(data, partitionKey, sequenceNumber, arrivalMillis)
    builder.result().head
  }

  /** The records of an answer that come after a position. What answers and subscriptions continue at must not go back; one
    * that does (LocalStack's may, at a shard's first record) repeats nothing here.
    *
    * @throws DamagedAnswer where something is missing in them, or they are out of order
    */
  def after(position: ShardPosition, answered: util.List[Record]): Array[KinesisRecord] = DamagedAnswer.unlessRead {
    val numbers = new Array[SequenceNumber](answered.size)
    var bytes   = 0L
    var texts   = 0
    var i       = 0
    while (i < numbers.length) {
      val record = answered.get(i)
      numbers(i) = SequenceNumber
        .parse(record.sequenceNumber)
        .getOrElse(throw new DamagedAnswer(s"'${record.sequenceNumber}' is not a record's number"))
      bytes += dataOf(record).length
      texts += AnswerRecords.textLength(record.partitionKey, numbers(i))
      i += 1
    }
    val isBefore: SequenceNumber => Boolean = position match {
      case AfterSequenceNumber(last) => _ <= last
      case Within(number, _)         => _ < number
      case _                         => _ => false
    }
    val first   = numbers.indexWhere(!isBefore(_)) match { case -1 => numbers.length; case known => known }
    val builder = new AnswerRecords.Builder(numbers.length - first, bytes, texts)
    i = first
    while (i < numbers.length) {
      val record = answered.get(i)
      if (i > first && numbers(i - 1) >= numbers(i))
        throw new DamagedAnswer(s"Record ${numbers(i)} comes after ${numbers(i - 1)}")
      val arrival =
        DamagedAnswer.has(record.approximateArrivalTimestamp, "ApproximateArrivalTimestamp of a record").toEpochMilli
      builder.add(dataOf(record), record.partitionKey, numbers(i), arrival)
      i += 1
    }
    builder.result()
  }

  private def dataOf(record: Record) = DamagedAnswer.has(record.data, "Data of a record").asByteArrayUnsafe
}

/** The records of one answer as a few arrays. What survives young collections is copied by the garbage collector object by object, several times; arrays
  * of an answer's size are not.
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

  /** Average bytes of data above which records keep the arrays that they came in. */
  private val LargeRecord = 16 << 10

  /** Of key and number together, where the key is ASCII. */
  def textLength(partitionKey: String, number: SequenceNumber): Int =
    (if (partitionKey == null) 0 else partitionKey.length) + number.text.length

  /** @param records   to come
    * @param dataBytes of all of them
    * @param textBytes of their keys and numbers; more are taken where it needs them
    */
  final class Builder(records: Int, dataBytes: Long, textBytes: Int) {
    private val isLarge    = dataBytes > records.toLong * LargeRecord
    private val separate   = if (isLarge) Some(new Array[Array[Byte]](records)) else None
    private val dataEnds   = new Array[Int](records)
    private val keyEnds    = new Array[Int](records)
    private val numberEnds = new Array[Int](records)
    private val arrivals   = new Array[Long](records)
    private var bytes      = new Array[Byte](textBytes + (if (isLarge) 0 else dataBytes.toInt))
    private var end        = 0
    private var count      = 0

    def add(data: Array[Byte], partitionKey: String, number: SequenceNumber, arrivalMillis: Long): Unit = {
      separate match {
        case Some(arrays) => arrays(count) = data
        case None         => put(data)
      }
      dataEnds(count) = end
      if (partitionKey == null) keyEnds(count) = -1
      else {
        put(partitionKey.getBytes(UTF_8))
        keyEnds(count) = end
      }
      put(number.text.getBytes(ISO_8859_1))
      numberEnds(count) = end
      arrivals(count) = arrivalMillis
      count += 1
    }

    def result(): Array[KinesisRecord] = {
      val all = new AnswerRecords(bytes, dataEnds, keyEnds, numberEnds, arrivals, separate)
      Array.tabulate(count)(new KinesisRecord(all, _))
    }

    private def put(more: Array[Byte]): Unit = {
      if (end + more.length > bytes.length)
        bytes = util.Arrays.copyOf(bytes, (end + more.length).max(bytes.length + bytes.length / 4))
      System.arraycopy(more, 0, bytes, end, more.length)
      end += more.length
    }
  }
}
