package io.github.kinesisspark.position

import java.nio.charset.StandardCharsets.ISO_8859_1

/** The number Kinesis gives a record: an unsigned integer of up to 129 decimal digits, growing within a shard.
  *
  * Compared as a number: it has no leading zeros, so the one with more digits is the greater, and among those with as many the order
  * of the digits decides. Kept as the service wrote it, because every API call wants that text back.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Record.html Record.SequenceNumber]]
  */
final class SequenceNumber private (val text: String) extends Ordered[SequenceNumber] with Serializable {
  override def compare(other: SequenceNumber): Int =
    if (text.length != other.text.length) text.length.compareTo(other.text.length) else text.compareTo(other.text)
  override def equals(other: Any): Boolean = other match {
    case that: SequenceNumber => text == that.text
    case _                    => false
  }
  override def hashCode: Int    = text.hashCode
  override def toString: String = text
}

object SequenceNumber {
  val MostDigits = 129

  /** The number in `text`, or nothing where it is not of the service's form (leading zeros included). */
  def parse(text: String): Option[SequenceNumber] = {
    // A character that is none of Latin 1 becomes a question mark.
    val characters = text.getBytes(ISO_8859_1)
    Option.when(isNumber(characters, 0, characters.length))(new SequenceNumber(text))
  }

  /** Whether characters are of the service's form. A loop, because this runs once a record. */
  def isNumber(characters: Array[Byte], from: Int, until: Int): Boolean = {
    val length = until - from
    var i      = from
    while (i < until && characters(i) >= '0' && characters(i) <= '9') i += 1
    0 < length && length <= MostDigits && i == until && (length == 1 || characters(from) != '0')
  }

  /** @throws java.lang.IllegalArgumentException where `text` is not a sequence number */
  def apply(text: String): SequenceNumber =
    parse(text).getOrElse(throw new IllegalArgumentException(s"'$text' is not a Kinesis sequence number"))
}
