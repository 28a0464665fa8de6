package io.github.kinesisspark.position

/** The number Kinesis gives a record: an unsigned integer of up to 129 decimal digits, growing within a shard.
  *
  * Compared as a number. Kept as the service wrote it, because every API call wants that text back; the number itself is
  * made on the first comparison only, as most records are never compared.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Record.html Record.SequenceNumber]]
  */
final class SequenceNumber private (val text: String) extends Ordered[SequenceNumber] with Serializable {
  @transient private lazy val value = new java.math.BigInteger(text)

  override def compare(other: SequenceNumber): Int = value.compareTo(other.value)
  override def equals(other: Any): Boolean         = other match {
    case that: SequenceNumber => text == that.text
    case _                    => false
  }
  override def hashCode: Int    = text.hashCode
  override def toString: String = text
}

object SequenceNumber {
  private val Form = "0|[1-9][0-9]{0,128}".r

  /** The number in `text`, or nothing where it is not of the service's form (leading zeros included). */
  def parse(text: String): Option[SequenceNumber] = Option.when(Form.matches(text))(new SequenceNumber(text))

  /** @throws java.lang.IllegalArgumentException where `text` is not a sequence number */
  def apply(text: String): SequenceNumber =
    parse(text).getOrElse(throw new IllegalArgumentException(s"'$text' is not a Kinesis sequence number"))

  /** A number that came from the service, whose form is not checked again: this runs once a record. */
  def trusted(text: String): SequenceNumber = new SequenceNumber(text)
}
