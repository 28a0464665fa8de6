package io.github.kinesisspark.aggregation

import java.util

/** A part of a message of Protocol Buffers, as it is written. Numbers are varints: seven bits a byte, the lowest first.
  *
  * @see [[https://protobuf.dev/programming-guides/encoding/ Encoding]]
  */
private[aggregation] final class MessageBytes {
  private var bytes = Array.emptyByteArray
  private var end   = 0

  def length: Int = end

  def ensure(more: Int): Unit =
    if (end + more > bytes.length)
      bytes = util.Arrays.copyOf(bytes, (end + more).max((2L * bytes.length).min(MessageBytes.Longest).toInt))

  /** @param field up to 15 */
  def tag(field: Int, kind: Int): Unit = put((field << 3 | kind).toByte)

  /** @param value not negative */
  def varint(value: Int): Unit = {
    var left = value
    while (left >= 0x80) {
      put((left & 0x7f | 0x80).toByte)
      left >>>= 7
    }
    put(left.toByte)
  }

  def put(more: Array[Byte]): Unit = {
    System.arraycopy(more, 0, bytes, end, more.length)
    end += more.length
  }

  def copyTo(out: Array[Byte], at: Int): Unit = System.arraycopy(bytes, 0, out, at, end)

  private def put(byte: Byte): Unit = {
    bytes(end) = byte
    end += 1
  }
}

private[aggregation] object MessageBytes {

  /** Wire types. */
  val Varint = 0
  val Bytes  = 2

  /** Bytes of a tag and a varint, at most. */
  val MostHeader = 6

  private val Longest = Int.MaxValue - 8L

  /** Of a varint, in bytes. */
  def sizeOf(value: Int): Int = (38 - Integer.numberOfLeadingZeros(value | 1)) / 7
}

/** The keys of one field, each once, in the order in which they came, and where each stands. Places are found by hashing into an array
  * of numbers, so that none is boxed.
  */
private[aggregation] final class KeyTable(field: Int) {
  import KeyTable._

  private val encoded = new MessageBytes
  private var keys    = new Array[String](FewKeys)
  private var count   = 0

  /** Places and 1; 0 is a free slot. More than half of them are free. */
  private var slots = new Array[Int](4 * FewKeys)

  def table: MessageBytes = encoded

  /** In the message. */
  def bytes: Int = encoded.length

  /** Where a key stands, or will stand once it is added. */
  def placeOf(key: String): Int = {
    val place = slots(slotOf(key)) - 1
    if (place >= 0) place else count
  }

  /** Bytes that a key adds.
    *
    * @param place as [[placeOf]] says
    */
  def growth(place: Int, key: Array[Byte]): Int =
    if (place < count) 0 else 1 + MessageBytes.sizeOf(key.length) + key.length

  /** Adds a key that isn't there.
    *
    * @param place as [[placeOf]] says
    */
  def add(place: Int, key: String, inUtf8: Array[Byte]): Unit = if (place == count) {
    if (count == keys.length) enlarge()
    keys(count) = key
    count += 1
    slots(slotOf(key)) = count
    encoded.ensure(MessageBytes.MostHeader + inUtf8.length)
    encoded.tag(field, MessageBytes.Bytes)
    encoded.varint(inUtf8.length)
    encoded.put(inUtf8)
  }

  /** The key's, or the free one that it goes into. */
  private def slotOf(key: String) = {
    val hash = key.hashCode
    var slot = (hash ^ hash >>> 16) & slots.length - 1
    while (slots(slot) != 0 && keys(slots(slot) - 1) != key) slot = slot + 1 & slots.length - 1
    slot
  }

  private def enlarge(): Unit = {
    keys = util.Arrays.copyOf(keys, 2 * count)
    slots = new Array[Int](4 * keys.length)
    var place = 0
    while (place < count) {
      slots(slotOf(keys(place))) = place + 1
      place += 1
    }
  }
}

private object KeyTable {
  private val FewKeys = 16
}
