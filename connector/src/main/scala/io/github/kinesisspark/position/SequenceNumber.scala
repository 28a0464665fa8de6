package io.github.kinesisspark.position

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
  def parse(text: String): Option[SequenceNumber] = Option.when(isNumber(text))(new SequenceNumber(text))

  /** A loop, because this runs once a record. */
  private def isNumber(text: String) = {
    val length = text.length
    var i      = 0
    while (i < length && text.charAt(i) >= '0' && text.charAt(i) <= '9') i += 1
    0 < length && length <= MostDigits && i == length && (length == 1 || text.charAt(0) != '0')
  }

  /** @throws java.lang.IllegalArgumentException where `text` is not a sequence number */
  def apply(text: String): SequenceNumber =
    parse(text).getOrElse(throw new IllegalArgumentException(s"'$text' is not a Kinesis sequence number"))
}
