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

  /** False where the stream distributes records itself and the producer gave none. */
  def hasKey: Boolean = answer.keyEnds(index) >= 0

  /** Null without one. */
  def partitionKey: String = if (hasKey) new String(answer.bytes, keyFrom, keyLength, UTF_8) else null

  def data: Array[Byte] =
    if (isSeparate) answer.separate.get(index)
    else util.Arrays.copyOfRange(answer.bytes, dataFrom, answer.dataEnds(index))

  /** The service's approximate time of arrival. */
  def arrivalMillis: Long = answer.arrivals(index)

  /** What the service's and our limits count: data and key. */
  def size: Long = dataLength.toLong + keyLength

  /** Without copying the data. */
  def startsWith(prefix: Array[Byte]): Boolean = dataLength >= prefix.length && {
    val in   = if (isSeparate) answer.separate.get(index) else answer.bytes
    val from = if (isSeparate) 0 else dataFrom
    util.Arrays.equals(in, from, from + prefix.length, prefix, 0, prefix.length)
  }

  /** A view of the answer's bytes, to be used at once; null without a key. */
  def partitionKeyText: UTF8String = if (hasKey) UTF8String.fromBytes(answer.bytes, keyFrom, keyLength) else null

  /** A view of the answer's bytes, to be used at once. */
  def sequenceNumberText: UTF8String = UTF8String.fromBytes(answer.bytes, numberFrom, numberLength)

  private def isSeparate = answer.separate.nonEmpty && answer.separate.get(index) != null

  // In the answer's bytes, one after the other: data, unless it is kept separately; key; number.
  private def dataFrom   = if (index == 0) 0 else answer.numberEnds(index - 1)
  private def dataLength =
    if (isSeparate) answer.separate.get(index).length else answer.dataEnds(index) - dataFrom
  private def keyFrom      = answer.dataEnds(index)
  private def keyLength    = if (hasKey) answer.keyEnds(index) - keyFrom else 0
  private def numberFrom   = keyFrom + keyLength
  private def numberLength = answer.numberEnds(index) - numberFrom
}

object KinesisRecord {

  private val Overhead = 120L

  /** What records take of the heap, roughly: number, places and array entries come on top of the data.
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
