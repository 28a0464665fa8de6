package io.github.kinesisspark.testkit.model

import java.math.BigInteger
import java.nio.ByteBuffer
import scala.util.Try

/** A sequence number of the service's form: 56 digits that begin with 49.
  *
  * It is one 188-bit number. From the top: version (4 bits, 2), second the shard was made (36), low digit of the shard's
  * index (4), ordinal of the record in the shard (64), incarnation of the stream (8), second of arrival (36), index of
  * the shard (32), version (4, 2). So numbers grow with the ordinal in a shard, a shard made later has higher numbers
  * than one made before, and no two shards of a stream share one.
  *
  * @param incarnation distinguishes a stream from one of the same name that was deleted before it
  */
final case class SequenceNumber(
    shardMadeAt: Long,
    shardIndex: Int,
    ordinal: Long,
    incarnation: Int,
    arrivedAt: Long
) {

  def value: BigInteger = {
    val words = ByteBuffer.allocate(24)
    words.putLong(
      (SequenceNumber.Version << 56) | ((shardMadeAt & SequenceNumber.Seconds) << 20) |
        ((shardIndex & 0xfL) << 16) | (ordinal >>> 48)
    )
    words.putLong((ordinal << 16) | ((incarnation & 0xffL) << 8) | ((arrivedAt & SequenceNumber.Seconds) >>> 28))
    words.putLong((arrivedAt << 36) | ((shardIndex & 0xffffffffL) << 4) | SequenceNumber.Version)
    new BigInteger(words.array)
  }

  override def toString: String = value.toString
}

object SequenceNumber {
  private val Version = 2L
  private val Seconds = (1L << 36) - 1

  /** How many digits every number has. */
  val Digits = 56

  /** Reads a number back; none if it isn't of this form. */
  def parse(text: String): Option[SequenceNumber] =
    Try(new BigInteger(text)).toOption.filter(v => v.signum > 0 && v.bitLength <= 188).flatMap { v =>
      def bits(from: Int, count: Int): Long =
        v.shiftRight(from).and(BigInteger.ONE.shiftLeft(count).subtract(BigInteger.ONE)).longValue
      val number = SequenceNumber(bits(148, 36), bits(4, 32).toInt, bits(80, 64), bits(72, 8).toInt, bits(36, 36))
      Option.when(number.value == v)(number)
    }

  /** Whether the text is what the service accepts as a sequence number at all. */
  def isWellFormed(text: String): Boolean = text.matches("0|[1-9]\\d{0,128}")
}
