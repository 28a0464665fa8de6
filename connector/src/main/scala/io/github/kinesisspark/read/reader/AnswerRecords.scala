package io.github.kinesisspark.read.reader

import java.util

import scala.collection.mutable

/** Records of one answer as a few arrays. Objects that survive young collections are copied one by one, several times; a few arrays cost a fraction
  * of that.
  *
  * @param bytes      data, key and number of each record, one after the other
  * @param dataEnds   where each record's data ends
  * @param keyEnds    where its key ends; negative without a key
  * @param numberEnds where its sequence number ends, in digits
  * @param separate   the data of each large record, which would cost more to copy into `bytes` than that saves; null for the others. None if no record is large
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
      if (count > 0 && begin >= PartBytes) beginPart()
      large.foreach { data =>
        while (separate.size < count) separate += null
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
        if (separate.isEmpty) None else Some(util.Arrays.copyOf(separate.toArray, count))
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
