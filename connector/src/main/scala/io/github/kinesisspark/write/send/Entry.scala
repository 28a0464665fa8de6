package io.github.kinesisspark.write.send

import java.nio.charset.StandardCharsets.UTF_8

import io.github.kinesisspark.aggregation.Packable
import io.github.kinesisspark.config.StreamRef
import io.github.kinesisspark.error.OneLine

/** The place of a row in a write. A task that runs again gives a row the same ID if it computes the same rows in the same order. Otherwise that ID goes
  * to another row.
  *
  * @param run  the query and, of a streaming one, its batch
  * @param task the partition's number
  * @param row  from 0
  */
final case class RowId(run: String, task: Int, row: Long) {

  /** Short enough for a partition key. */
  override def toString: String = s"$run-$task-$row"
}

/** A record on its way into a stream; the service will take it unless it is too large for the stream. */
final class Entry(
    val stream: StreamRef,
    val partitionKey: String,
    val explicitHashKey: Option[BigInt],
    val data: Array[Byte],
    val row: RowId
) extends Packable {

  /** Bytes as the service counts them: data and key. */
  val size: Int = data.length + Entry.bytesOf(partitionKey)

  /** Its approximate size in memory. */
  def weight: Long = size.toLong + Entry.Overhead
}

object Entry {
  private val Overhead = 200L

  /** Of all of them together. A loop, because a fold boxes each sum. */
  def bytesOf(entries: Vector[Entry]): Long = {
    var sum = 0L
    entries.foreach(sum += _.size)
    sum
  }

  def weightOf(entries: Vector[Entry]): Long = bytesOf(entries) + entries.size * Overhead

  /** In UTF-8, and mostly in ASCII: then nothing is made to count them. */
  private def bytesOf(key: String) = if (isAscii(key)) key.length else key.getBytes(UTF_8).length

  private def isAscii(key: String) = {
    var i = 0
    while (i < key.length && key.charAt(i) < 0x80) i += 1
    i == key.length
  }

  val MaxKeyLength: Int = 256
  val MaxSize: Int      = 10 << 20
}

/** A row that can never be written, and why. */
final case class BadRecord(row: RowId, stream: Option[StreamRef], partitionKey: Option[String], why: String) {
  override def toString: String =
    s"row $row" + stream.fold("")(s => s" for stream $s") +
      partitionKey.fold("")(key => s", partition key '${BadRecord.shortened(key)}'") + s": $why"
}

object BadRecord {
  private def shortened(key: String) = OneLine(key, 40)
}

/** A record that the service has not taken yet.
  *
  * @param refusedSince when it was first refused
  * @param tries        how often it was sent, the call counted that it waits for or is in
  * @param throttle     the shard at whose pace it is sent
  */
final case class PendingRecord(
    entry: Entry,
    refusedSince: Option[Long] = None,
    tries: Int = 1,
    throttle: Option[String] = None
) {
  def via(shard: Option[String]): PendingRecord = if (throttle == shard) this else copy(throttle = shard)

  /** To be sent again, though nothing was wrong with it. */
  def retry: PendingRecord = copy(tries = tries + 1)

  def refused(now: Long): PendingRecord =
    copy(refusedSince = if (refusedSince.isEmpty) Some(now) else refusedSince, tries = tries + 1)
}

/** The records of one PutRecords, in order. */
final case class Batch(records: Vector[PendingRecord], bytes: Long) {
  val entries: Vector[Entry] = records.map(_.entry)

  def throttles: Set[String] = records.iterator.flatMap(_.throttle).toSet

  /** Records that were sent before. */
  def retried: Int = records.count(_.tries > 1)
}
