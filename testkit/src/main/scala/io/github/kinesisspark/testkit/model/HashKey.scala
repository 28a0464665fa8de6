package io.github.kinesisspark.testkit.model

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import scala.util.Try

/** The 128-bit space of hash keys, and where a partition key falls in it. */
object HashKey {
  val min: BigInt = 0
  val max: BigInt = (BigInt(1) << 128) - 1

  private val md5 = ThreadLocal.withInitial[MessageDigest](() => MessageDigest.getInstance("MD5"))

  /** The MD5 of the key's UTF-8 form as an unsigned number. */
  def of(partitionKey: String): BigInt = BigInt(1, md5.get.digest(partitionKey.getBytes(UTF_8)))

  /** Reads an explicit hash key: decimal, within the space. */
  def parse(text: String): Option[BigInt] =
    Option.when(text.matches("0|[1-9]\\d{0,38}"))(text).flatMap(t => Try(BigInt(t)).toOption).filter(_ <= max)
}

/** A range of hash keys with both ends in it. */
final case class HashRange(start: BigInt, end: BigInt) {
  def contains(key: BigInt): Boolean = start <= key && key <= end

  /** Whether the other range begins right after this one. */
  def touches(next: HashRange): Boolean = end + 1 == next.start

  /** Two ranges, the second from `at` on; none if one of them would be empty. */
  def splitAt(at: BigInt): Option[(HashRange, HashRange)] =
    Option.when(start < at && at <= end)((HashRange(start, at - 1), HashRange(at, end)))
}

object HashRange {
  val all: HashRange = HashRange(HashKey.min, HashKey.max)

  /** `count` ranges of one size, to a hash key, as the service makes for a new stream. Twice as many have the same borders between them. */
  def uniform(count: Int): Vector[HashRange] = {
    def border(i: Int) = (HashKey.max + 1) * i / count
    Vector.tabulate(count)(i => HashRange(border(i), border(i + 1) - 1))
  }
}
