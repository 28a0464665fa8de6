package io.github.kinesisspark.position

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** A place in the 128-bit hash space that the shards of a stream divide among them: it decides which of them a record goes to.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecord.html PutRecord]]
  */
object HashKey {
  val Last: BigInt = (BigInt(1) << 128) - 1

  /** Of a record that was given no hash key of its own. */
  def of(partitionKey: String): BigInt =
    BigInt(1, MessageDigest.getInstance("MD5").digest(partitionKey.getBytes(UTF_8)))

  /** @return nothing where the text is no decimal number from 0 to [[Last]] */
  def parse(text: String): Option[BigInt] =
    Option
      .when(text.nonEmpty && text.length <= MostDigits && text.forall(c => '0' <= c && c <= '9'))(BigInt(text))
      .filter(_ <= Last)

  private val MostDigits = Last.toString.length
}

/** The part of the 128-bit hash space that a shard takes, both ends within. */
final case class HashKeyRange(start: BigInt, end: BigInt) {
  def contains(key: BigInt): Boolean = start <= key && key <= end

  def contains(other: HashKeyRange): Boolean = start <= other.start && other.end <= end
}

object HashKeyRange {

  /** All of it: the only shard's. */
  val all: HashKeyRange = HashKeyRange(0, HashKey.Last)
}
