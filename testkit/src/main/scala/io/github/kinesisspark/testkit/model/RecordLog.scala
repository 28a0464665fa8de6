package io.github.kinesisspark.testkit.model

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util

/** A record as a reader sees it. The key is absent only where the stream distributes records itself. */
final case class StoredRecord(
    sequence: String,
    arrivedAt: Long,
    partitionKey: Option[String],
    data: ByteBuffer,
    isEncrypted: Boolean
)

/** The records of one shard, kept as the CBOR that GetRecords answers with, so that an answer is a copy of whole runs of
  * bytes and no record is encoded twice.
  *
  * Records lie in segments that only grow at their end. Ordinals grow with them; arrival times may go back, so each record
  * also has the highest arrival time up to it, which grows. Both are searched by halves. Not safe for several threads: the shard's lock guards it. A slice that was read stays valid without the
  * lock, because bytes once written never change.
  */
final class RecordLog {
  import RecordLog._

  private val segments     = new util.ArrayList[Segment]
  private var first        = 0             // records of the first segment that are trimmed
  private var highest      = Long.MinValue // arrival time so far
  private var nextCapacity = FirstSegmentBytes

  /** Appends one record, whose ordinal is above all before.
    *
    * @param isEncrypted whether readers are shown that the record was put into an encrypted stream; its data are kept as they are
    */
  def append(
      ordinal: Long,
      arrivedAt: Long,
      sequence: String,
      key: Option[String],
      data: Array[Byte],
      isEncrypted: Boolean = false
  ): Unit = {
    highest = math.max(highest, arrivedAt)
    val keyBytes = key.map(_.getBytes(UTF_8))
    val needed   = recordSize(keyBytes, data.length, isEncrypted)
    val last     = if (segments.isEmpty) null else segments.get(segments.size - 1)
    val segment  =
      if (last != null && last.hasRoom(needed)) last
      else {
        val added = new Segment(math.max(nextCapacity, needed))
        nextCapacity = math.min(nextCapacity * 2, MaxSegmentBytes)
        segments.add(added)
        added
      }
    segment.append(ordinal, arrivedAt, highest, sequence, keyBytes, data, isEncrypted, needed)
  }

  /** Up to `maxRecords` and `maxBytes` (data and keys) of the records from `ordinal` on; one record at least, if any.
    *
    * @param until no record from the first on that arrived after this time
    */
  def read(ordinal: Long, maxRecords: Int, maxBytes: Int, until: Long = Long.MaxValue): Slices = {
    var segment = segmentOf(_.lastOrdinal >= ordinal)
    val slices  = Vector.newBuilder[Slice]
    var records = 0
    var bytes   = 0L
    var full    = false
    while (segment < segments.size && !full && records < maxRecords) {
      val s    = segments.get(segment)
      val from = math.max(lowest(segment), s.indexOfOrdinal(ordinal))
      var to   = from
      while (to < s.count && records < maxRecords && !full) {
        val size = s.payload(to)
        if (s.highest(to) > until || (records > 0 && bytes + size > maxBytes)) full = true
        else { bytes += size; records += 1; to += 1 }
      }
      if (to > from) slices += s.slice(from, to)
      segment += 1
    }
    Slices(slices.result(), records, bytes)
  }

  /** The ordinal of the first record that arrived at `time` or later; some after it may have arrived earlier. */
  def firstArrivedFrom(time: Long): Option[Long] = {
    val segment = segmentOf(_.lastHighest >= time)
    Option.when(segment < segments.size) {
      val s = segments.get(segment)
      s.ordinals(math.max(lowest(segment), s.indexOfArrival(time)))
    }
  }

  /** The highest arrival time up to the first record from `ordinal` on, with it; none if there is no such record. */
  def highestArrivalAt(ordinal: Long): Option[Long] = {
    val segment = segmentOf(_.lastOrdinal >= ordinal)
    Option.when(segment < segments.size) {
      val s = segments.get(segment)
      s.highest(math.max(lowest(segment), s.indexOfOrdinal(ordinal)))
    }
  }

  /** Forgets the records before the first one that arrived at `time` or later. */
  def trimArrivedBefore(time: Long): Unit = trim(_.lastHighest < time, _.indexOfArrival(time))

  /** Forgets the records below `ordinal`. */
  def trimBelow(ordinal: Long): Unit = trim(_.lastOrdinal < ordinal, _.indexOfOrdinal(ordinal))

  /** The arrival time of the oldest record kept. */
  def oldestArrival: Option[Long] = Option.when(!segments.isEmpty)(segments.get(0).arrivals(first))

  /** The ordinal of the newest record kept. */
  def lastOrdinal: Option[Long] = Option.when(!segments.isEmpty)(segments.get(segments.size - 1).lastOrdinal)

  /** How many records are kept. */
  def size: Long = {
    var sum = -first.toLong
    segments.forEach(s => sum += s.count)
    sum
  }

  private def trim(isGone: Segment => Boolean, keepFrom: Segment => Int): Unit = {
    var gone = 0
    while (gone < segments.size && isGone(segments.get(gone))) gone += 1
    if (gone > 0) { segments.subList(0, gone).clear(); first = 0 }
    if (!segments.isEmpty) first = math.max(first, keepFrom(segments.get(0)))
  }

  private def lowest(segment: Int): Int = if (segment == 0) first else 0

  /** The first segment that the test, which grows with the segments, holds for. */
  private def segmentOf(test: Segment => Boolean): Int = search(0, segments.size)(i => test(segments.get(i)))
}

object RecordLog {
  private val FirstSegmentBytes = 8 * 1024
  private val MaxSegmentBytes   = 1024 * 1024

  // CBOR's major types and the lengths that follow them (RFC 8949, section 3).
  private val BytesType = 0x40
  private val TextType  = 0x60

  // The fixed parts of a record's CBOR: a map of three to five, its keys, the tag and width of a time.
  private val MapType        = 0xa0
  private val FieldsOfAll    = 3
  private val EncryptedField = text("EncryptionType") ++ text("KMS")
  private val SequenceField  = text("SequenceNumber") ++ Array[Byte](0x78, SequenceNumber.Digits.toByte)
  private val ArrivalField   = text("ApproximateArrivalTimestamp") ++ Array[Byte](0xc1.toByte, 0x1b)
  private val KeyField       = text("PartitionKey")
  private val DataField      = text("Data")
  private val ArrivalAt      = 1 + SequenceField.length + SequenceNumber.Digits + ArrivalField.length
  private val AfterArrival   = ArrivalAt + 8
  private val NoKey          = -1

  /** A run of whole records, as CBOR items one after the other. */
  final class Slice private[RecordLog] (bytes: Array[Byte], from: Int, to: Int, index: Index) {
    def count: Int                      = index.until - index.from
    def buffer: ByteBuffer              = ByteBuffer.wrap(bytes, from, to - from)
    def records: Iterator[StoredRecord] = Iterator.range(index.from, index.until).map { i =>
      val start = startOf(i)
      val data  = ByteBuffer.wrap(bytes, index.ends(i) - index.dataLengths(i), index.dataLengths(i)).slice
      val key   = Option.when(index.keyLengths(i) != NoKey) {
        val at = start + AfterArrival + KeyField.length + headerSize(index.keyLengths(i))
        new String(bytes, at, index.keyLengths(i), UTF_8)
      }
      val isEncrypted = bytes(start) == mapOf(key.isDefined, isEncrypted = true)
      StoredRecord(sequenceOf(i), index.arrivals(i), key, data, isEncrypted)
    }
    private[RecordLog] def lastSequence: String = sequenceOf(index.until - 1)
    private def startOf(i: Int): Int            = if (i == 0) 0 else index.ends(i - 1)
    private def sequenceOf(i: Int): String      =
      new String(bytes, startOf(i) + 1 + SequenceField.length, SequenceNumber.Digits, ISO_8859_1)
    private[RecordLog] def lastOrdinal: Long = index.ordinals(index.until - 1)
    private[RecordLog] def lastArrival: Long = index.arrivals(index.until - 1)
  }

  /** What one read gives: runs of records in order. */
  final case class Slices(slices: Vector[Slice], count: Int, bytes: Long) {
    def lastOrdinal: Option[Long]       = slices.lastOption.map(_.lastOrdinal)
    def lastArrival: Option[Long]       = slices.lastOption.map(_.lastArrival)
    def lastSequence: Option[String]    = slices.lastOption.map(_.lastSequence)
    def records: Iterator[StoredRecord] = slices.iterator.flatMap(_.records)
  }

  object Slices {
    val empty: Slices = Slices(Vector.empty, 0, 0)
  }

  /** The index arrays of a segment as they were when a slice was cut, so that it needs no lock. */
  final private case class Index(
      from: Int,
      until: Int,
      ordinals: Array[Long],
      arrivals: Array[Long],
      ends: Array[Int],
      keyLengths: Array[Int],
      dataLengths: Array[Int]
  )

  final private class Segment(capacity: Int) {
    private val bytes         = new Array[Byte](capacity)
    private var used          = 0
    var count                 = 0
    var ordinals: Array[Long] = new Array[Long](8)
    var arrivals: Array[Long] = new Array[Long](8)
    var highest: Array[Long]  = new Array[Long](8)
    private var ends          = new Array[Int](8)
    private var keyLengths    = new Array[Int](8)
    private var dataLengths   = new Array[Int](8)

    def hasRoom(needed: Int): Boolean = capacity - used >= needed
    def lastOrdinal: Long             = ordinals(count - 1)
    def lastHighest: Long             = highest(count - 1)
    def payload(i: Int): Int          = dataLengths(i) + math.max(0, keyLengths(i))

    def indexOfOrdinal(ordinal: Long): Int = search(0, count)(ordinals(_) >= ordinal)
    def indexOfArrival(time: Long): Int    = search(0, count)(highest(_) >= time)

    def slice(from: Int, to: Int): Slice = new Slice(
      bytes,
      if (from == 0) 0 else ends(from - 1),
      ends(to - 1),
      Index(from, to, ordinals, arrivals, ends, keyLengths, dataLengths)
    )

    def append(
        ordinal: Long,
        arrivedAt: Long,
        highestArrival: Long,
        seq: String,
        key: Option[Array[Byte]],
        data: Array[Byte],
        isEncrypted: Boolean,
        size: Int
    ): Unit = {
      if (count == ordinals.length) grow()
      val out = ByteBuffer.wrap(bytes, used, size)
      out.put(mapOf(key.isDefined, isEncrypted))
      out.put(SequenceField).put(seq.getBytes(ISO_8859_1))
      out.put(ArrivalField).putLong(arrivedAt)
      key.foreach { k =>
        out.put(KeyField)
        putHeader(out, TextType, k.length)
        out.put(k)
      }
      if (isEncrypted) out.put(EncryptedField)
      out.put(DataField)
      putHeader(out, BytesType, data.length)
      out.put(data)
      used += size
      ordinals(count) = ordinal
      arrivals(count) = arrivedAt
      highest(count) = highestArrival
      ends(count) = used
      keyLengths(count) = key.fold(NoKey)(_.length)
      dataLengths(count) = data.length
      count += 1
    }

    private def grow(): Unit = {
      val length = count * 2
      ordinals = util.Arrays.copyOf(ordinals, length)
      arrivals = util.Arrays.copyOf(arrivals, length)
      highest = util.Arrays.copyOf(highest, length)
      ends = util.Arrays.copyOf(ends, length)
      keyLengths = util.Arrays.copyOf(keyLengths, length)
      dataLengths = util.Arrays.copyOf(dataLengths, length)
    }
  }

  private def mapOf(hasKey: Boolean, isEncrypted: Boolean): Byte =
    (MapType | (FieldsOfAll + (if (hasKey) 1 else 0) + (if (isEncrypted) 1 else 0))).toByte

  private def recordSize(key: Option[Array[Byte]], dataLength: Int, isEncrypted: Boolean): Int =
    (if (isEncrypted) EncryptedField.length else 0) + AfterArrival + key.fold(0)(k =>
      KeyField.length + headerSize(k.length) + k.length
    ) +
      DataField.length + headerSize(dataLength) + dataLength

  private def headerSize(length: Int): Int =
    if (length < 24) 1 else if (length < 256) 2 else if (length < 65536) 3 else 5

  private def putHeader(out: ByteBuffer, major: Int, length: Int): Unit = {
    headerSize(length) match {
      case 1 => out.put((major | length).toByte)
      case 2 => out.put((major | 24).toByte).put(length.toByte)
      case 3 => out.put((major | 25).toByte).putShort(length.toShort)
      case _ => out.put((major | 26).toByte).putInt(length)
    }
    ()
  }

  private def text(value: String): Array[Byte] = {
    val out = ByteBuffer.allocate(headerSize(value.length) + value.length)
    putHeader(out, TextType, value.length)
    out.put(value.getBytes(UTF_8)).array
  }

  /** The first index in [from, until) that the test holds for; `until` if none. The test holds for all after it. */
  private def search(from: Int, until: Int)(test: Int => Boolean): Int = {
    var low  = from
    var high = until
    while (low < high) {
      val middle = (low + high) >>> 1
      if (test(middle)) high = middle else low = middle + 1
    }
    low
  }
}
