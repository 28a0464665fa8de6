package io.github.kinesisspark.read.reader

import java.util

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.services.kinesis.model.Record

import io.github.kinesisspark.aws.DamagedAnswer
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, Within}
import io.github.kinesisspark.position.{SequenceNumber, ShardPosition}

/** A record as the service delivers it, without the SDK's wrapping: buffers hold millions of these.
  *
  * @param partitionKey  null where the stream distributes records itself and the producer gave none
  * @param arrivalMillis the service's approximate time of arrival
  */
final class KinesisRecord(
    val sequenceNumber: SequenceNumber,
    val partitionKey: String,
    val data: Array[Byte],
    val arrivalMillis: Long
) {

  /** What the service's and our limits count: data and key. */
  def size: Long = data.length.toLong + (if (partitionKey == null) 0 else partitionKey.length)

  /** What it takes of the heap, roughly: objects, headers and the two texts come on top of the data. */
  def heapSize: Long = size + KinesisRecord.Overhead
}

object KinesisRecord {

  /** The records of an answer that come after a position. What answers and subscriptions continue at must not go back; one
    * that does (LocalStack's may, at a shard's first record) repeats nothing here.
    *
    * @throws DamagedAnswer where something is missing in them, or they are out of order
    */
  def after(position: ShardPosition, told: util.List[Record]): Array[KinesisRecord] = DamagedAnswer.unlessRead {
    val records = told.asScala.iterator.map(from)
    val after   = position match {
      case AfterSequenceNumber(last) => records.dropWhile(_.sequenceNumber <= last).toArray
      case Within(number, _)         => records.dropWhile(_.sequenceNumber < number).toArray
      case _                         => records.toArray
    }
    checkOrder(after)
    after
  }

  private def checkOrder(records: Array[KinesisRecord]): Unit = {
    var i = 1
    while (i < records.length) {
      val (before, after) = (records(i - 1).sequenceNumber, records(i).sequenceNumber)
      if (before >= after) throw new DamagedAnswer(s"Record $after comes after $before")
      i += 1
    }
  }

  private def from(r: Record): KinesisRecord = new KinesisRecord(
    SequenceNumber
      .parse(r.sequenceNumber)
      .getOrElse(throw new DamagedAnswer(s"'${r.sequenceNumber}' is not a record's number")),
    r.partitionKey,
    DamagedAnswer.has(r.data, "Data of a record").asByteArrayUnsafe,
    DamagedAnswer.has(r.approximateArrivalTimestamp, "ApproximateArrivalTimestamp of a record").toEpochMilli
  )

  val Overhead: Long = 240
}
