package io.github.kinesisspark.read.reader

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util

import scala.collection.mutable
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
  private def dataFrom   = if (index == 0) 0 else answer.numberEnds(index - 1)
  private def dataLength =
    if (answer.separate.isEmpty) answer.dataEnds(index) - dataFrom else answer.separate.get(index).length
  private def keyFrom      = answer.dataEnds(index)
  private def hasKey       = answer.keyEnds(index) >= 0
  private def keyLength    = if (hasKey) answer.keyEnds(index) - keyFrom else 0
  private def numberFrom   = keyFrom + keyLength
  private def numberLength = answer.numberEnds(index) - numberFrom
}

object KinesisRecord {

  /** Of the heap. */
  val Overhead: Long = 120

  /** What records take of the heap together, by [[KinesisRecord.heapSize]].
    *
    * @param bytes of data and keys
    */
  def heapOf(records: Long, bytes: Long): Long = bytes + records * Overhead

  /** An answer of one record. */
  def apply(
      sequenceNumber: SequenceNumber,
      partitionKey: String,
      data: Array[Byte],
      arrivalMillis: Long
  ): KinesisRecord = {
    val packer = new AnswerRecords.Packer(data.length)
    pack(packer, data, partitionKey, sequenceNumber, arrivalMillis)
    packer.result().head
  }

  /** The records of an answer that come after a position, of which the SDK has made objects. What answers and subscriptions continue at must
    * not go back; one that does (LocalStack's may, at a shard's first record) repeats nothing here.
    *
    * @throws DamagedAnswer where something is missing in them, or they are out of order
    */
  def after(position: ShardPosition, answered: util.List[Record]): Array[KinesisRecord] = DamagedAnswer.unlessRead {
    val isBefore = before(position)
    val packer   = new AnswerRecords.Packer(answered.asScala.iterator.map(packedSize).sum)
    var last     = Option.empty[SequenceNumber]
    for (r <- answered.asScala) {
      val number = SequenceNumber
        .parse(r.sequenceNumber)
        .getOrElse(throw new DamagedAnswer(s"'${r.sequenceNumber}' is not a record's number"))
      if (last.isDefined || !isBefore(number)) {
        last.filter(_ >= number).foreach(other => throw new DamagedAnswer(s"Record $number comes after $other"))
        last = Some(number)
        pack(
          packer,
          DamagedAnswer.has(r.data, "Data of a record").asByteArrayUnsafe,
          r.partitionKey,
          number,
          DamagedAnswer.has(r.approximateArrivalTimestamp, "ApproximateArrivalTimestamp of a record").toEpochMilli
        )
      }
    }
    packer.result()
  }

  /** The records of an answer, in their order, that come after a position. */
  def after(position: ShardPosition, records: Array[KinesisRecord]): Array[KinesisRecord] = {
    val isBefore = before(position)
    // Mostly the first one shows that it is all of them.
    if (records.headOption.forall(first => !isBefore(first.sequenceNumber))) records
    else records.dropWhile(record => isBefore(record.sequenceNumber))
  }

  private def before(position: ShardPosition): SequenceNumber => Boolean = position match {
    case AfterSequenceNumber(last) => _ <= last
    case Within(number, _)         => _ < number
    case _                         => _ => false
  }

  private def packedSize(r: Record) =
    Option(r.data).fold(0)(_.asByteArrayUnsafe.length) + Option(r.partitionKey).fold(0)(
      _.length
    ) + SequenceNumber.MostDigits

  private def pack(
      packer: AnswerRecords.Packer,
      data: Array[Byte],
      partitionKey: String,
      sequenceNumber: SequenceNumber,
      arrivalMillis: Long
  ): Unit = {
    val key    = Option(partitionKey).map(_.getBytes(UTF_8))
    val number = sequenceNumber.text.getBytes(ISO_8859_1)
    packer.addData(data)
    packer.add(key.orNull, 0, key.fold(-1)(_.length), number, 0, number.length, arrivalMillis)
  }
}

/** What is asked of several records together, again and again: so they are looked at once.
  *
  * @param bytes   by [[KinesisRecord.size]]
  * @param largest of one of them, the same
  * @param oldest  arrival, in ms by the service's clock; meaningless without records, as `newest` is
  * @param newest  the latest arrival, which need not be the last record's: arrival times are approximate
  */
final case class RecordTotals private (
    records: Int,
    bytes: Long,
    largest: Long,
    private val oldest: Long,
    private val newest: Long
) {

  def heap: Long = KinesisRecord.heapOf(records, bytes)

  def oldestArrival: Option[Long] = Option.when(records > 0)(oldest)
  def newestArrival: Option[Long] = Option.when(records > 0)(newest)
}

object RecordTotals {
  def of(records: Array[KinesisRecord]): RecordTotals = of(records, 0, records.length)

  /** Of some of them.
    *
    * @param until behind the last
    */
  def of(records: Array[KinesisRecord], from: Int, until: Int): RecordTotals = {
    // A loop without boxes: it runs over every record that is read.
    var bytes   = 0L
    var largest = 0L
    var oldest  = Long.MaxValue
    var newest  = Long.MinValue
    var i       = from
    while (i < until) {
      val record  = records(i)
      val size    = record.size
      val arrival = record.arrivalMillis
      bytes += size
      largest = largest.max(size)
      oldest = oldest.min(arrival)
      newest = newest.max(arrival)
      i += 1
    }
    RecordTotals(until - from, bytes, largest, oldest, newest)
  }
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

  private val LargeRecord = 16 << 10

  /** Whether data of so many bytes have an array of their own. */
  def isLarge(length: Int): Boolean = length > LargeRecord

  /** A part has begun before its last record, which may have the longest key and number: 256 characters, and 129 digits. */
  private val LargestPart = PartBytes + LargeRecord + (2 << 10)

  /** Whether a sequence number, in digits without leading zeros, is greater than another one. */
  def comesAfter(
      number: Array[Byte],
      from: Int,
      length: Int,
      other: Array[Byte],
      otherFrom: Int,
      otherLength: Int
  ): Boolean =
    if (length != otherLength) length > otherLength
    else util.Arrays.compare(number, from, from + length, other, otherFrom, otherFrom + otherLength) > 0

  /** Of an answer or event, and of its records.
    *
    * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Record.html Record]]
    */
  object Names {
    val Records: Array[Byte]        = "Records".getBytes(ISO_8859_1)
    val Data: Array[Byte]           = "Data".getBytes(ISO_8859_1)
    val SequenceNumber: Array[Byte] = "SequenceNumber".getBytes(ISO_8859_1)
    val PartitionKey: Array[Byte]   = "PartitionKey".getBytes(ISO_8859_1)
    val Arrival: Array[Byte]        = "ApproximateArrivalTimestamp".getBytes(ISO_8859_1)
    val Encryption: Array[Byte]     = "EncryptionType".getBytes(ISO_8859_1)
    val Iterator: Array[Byte]       = "NextShardIterator".getBytes(ISO_8859_1)
    val Continuation: Array[Byte]   = "ContinuationSequenceNumber".getBytes(ISO_8859_1)
  }

  /** Of a record, as bits. */
  object Members {
    final val Unknown    = 0
    final val Data       = 1
    final val Number     = 2
    final val Arrival    = 4
    final val Key        = 8
    final val Encryption = 16

    final val Required = Data | Number | Arrival
  }

  /** Packs records one after the other: first the data, then the rest. Not thread-safe.
    *
    * @param expected bytes of all records together, at most; if there are more, arrays grow
    */
  final class Packer(expected: Int) {
    private val packed = mutable.ArrayBuilder.make[KinesisRecord]
    private var left   = expected

    private var bytes      = newBytes()
    private var end        = 0
    private var dataEnds   = new Array[Int](FewRecords)
    private var keyEnds    = new Array[Int](FewRecords)
    private var numberEnds = new Array[Int](FewRecords)
    private var arrivals   = new Array[Long](FewRecords)
    private val separate   = mutable.ArrayBuffer.empty[Array[Byte]]
    private var count      = 0

    // Of the record that is being packed: where its data begin, or the data where they are large.
    private var begin = 0
    private var large = Option.empty[Array[Byte]]

    /** A piece of data that are not large; several come one after the other. */
    def addData(from: Array[Byte], offset: Int, length: Int): Unit = put(from, offset, length)

    /** All data of a record. Large ones are kept as they are given. */
    def addData(all: Array[Byte]): Unit =
      if (isLarge(all.length)) large = Some(all) else put(all, 0, all.length)

    /** Completes the record.
      *
      * @param key    in UTF-8; none where its length is negative
      * @param number in ASCII
      */
    def add(
        key: Array[Byte],
        keyFrom: Int,
        keyLength: Int,
        number: Array[Byte],
        numberFrom: Int,
        numberLength: Int,
        arrivalMillis: Long
    ): Unit = {
      if (count > 0 && (large.isDefined != separate.nonEmpty || begin >= PartBytes)) beginPart()
      large.foreach { data =>
        separate += data
        left -= data.length
      }
      large = None
      if (count == dataEnds.length) enlarge()
      dataEnds(count) = end
      if (keyLength >= 0) put(key, keyFrom, keyLength)
      keyEnds(count) = if (keyLength >= 0) end else -1
      put(number, numberFrom, numberLength)
      numberEnds(count) = end
      arrivals(count) = arrivalMillis
      count += 1
      left -= end - begin
      begin = end
    }

    /** Called once. */
    def result(): Array[KinesisRecord] = {
      endPart()
      packed.result()
    }

    /** The data that are there already go with the record that is being packed. */
    private def beginPart(): Unit = {
      val begun = util.Arrays.copyOfRange(bytes, begin, end)
      endPart()
      bytes = newBytes()
      separate.clear()
      count = 0
      begin = 0
      end = 0
      put(begun, 0, begun.length)
    }

    private def endPart(): Unit = if (count > 0) {
      val part = new AnswerRecords(
        // Copied rather than kept with much room that nobody uses.
        if (bytes.length - begin > bytes.length / 8) util.Arrays.copyOf(bytes, begin) else bytes,
        util.Arrays.copyOf(dataEnds, count),
        util.Arrays.copyOf(keyEnds, count),
        util.Arrays.copyOf(numberEnds, count),
        util.Arrays.copyOf(arrivals, count),
        if (separate.isEmpty) None else Some(separate.toArray)
      )
      var i = 0
      while (i < count) {
        packed += new KinesisRecord(part, i)
        i += 1
      }
    }

    private def newBytes() = new Array[Byte](left.max(0).min(LargestPart))

    private def put(from: Array[Byte], offset: Int, length: Int): Unit = {
      if (end + length > bytes.length) bytes = util.Arrays.copyOf(bytes, (end + length) * 5 / 4)
      System.arraycopy(from, offset, bytes, end, length)
      end += length
    }

    private def enlarge(): Unit = {
      dataEnds = util.Arrays.copyOf(dataEnds, 2 * count)
      keyEnds = util.Arrays.copyOf(keyEnds, 2 * count)
      numberEnds = util.Arrays.copyOf(numberEnds, 2 * count)
      arrivals = util.Arrays.copyOf(arrivals, 2 * count)
    }
  }

  private val FewRecords = 16
}
