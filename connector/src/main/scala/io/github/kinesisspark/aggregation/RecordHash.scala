package io.github.kinesisspark.aggregation

import java.lang.Long.compareUnsigned
import java.nio.ByteBuffer
import java.security.MessageDigest

/** The hash key of one record after another, as two unsigned numbers of 64 bits: it is wanted of each row that is written or taken apart. Not
  * thread-safe.
  */
private[aggregation] final class RecordHash {
  private val md5    = MessageDigest.getInstance("MD5")
  private val digest = new Array[Byte](md5.getDigestLength)
  private val halves = ByteBuffer.wrap(digest)

  /** Of the record that was read last. */
  var high = 0L
  var low  = 0L

  /** @param partitionKey the record's, in UTF-8 */
  def read(record: Packable, partitionKey: Array[Byte]): Unit = record.explicitHashKey match {
    case Some(key) =>
      high = HashKeys.high(key)
      low = HashKeys.low(key)
    case None =>
      md5.update(partitionKey)
      md5.digest(digest, 0, digest.length): Unit
      high = halves.getLong(0)
      low = halves.getLong(8)
  }
}

/** Hash keys in their order. */
private[aggregation] final class HashKeys(keys: Array[BigInt]) {
  private val highs = keys.map(HashKeys.high)
  private val lows  = keys.map(HashKeys.low)

  /** The key at a place with another one. */
  def compare(place: Int, other: RecordHash): Int =
    if (highs(place) != other.high) compareUnsigned(highs(place), other.high)
    else compareUnsigned(lows(place), other.low)

  /** The place of the last key that is not greater; negative where all are. */
  def lastUpTo(other: RecordHash): Int = {
    var from  = 0
    var until = highs.length
    while (from < until) {
      val middle = (from + until) >>> 1
      if (compare(middle, other) <= 0) from = middle + 1 else until = middle
    }
    from - 1
  }
}

private[aggregation] object HashKeys {
  def high(key: BigInt): Long = (key >> 64).toLong
  def low(key: BigInt): Long  = key.toLong
}
