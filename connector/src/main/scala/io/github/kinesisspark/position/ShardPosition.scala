package io.github.kinesisspark.position

import java.util.Locale

/** A place in a shard: what comes next is read from there.
  *
  * LATEST is not among them: it names another place at every call, so planning turns it into a timestamp of the
  * service's clock before anything is stored.
  */
sealed trait ShardPosition extends Product with Serializable {
  import ShardPosition._

  /** Whether it names a moment: which record is the first one then depends on when Kinesis is asked. */
  final def isTime: Boolean = this.isInstanceOf[AtTimestamp]

  /** The number of the record that it is at, after or within, where it names one. */
  final def record: Option[SequenceNumber] = this match {
    case AfterSequenceNumber(n)                  => Some(n)
    case AtSequenceNumber(n)                     => Some(n)
    case Within(n, _)                            => Some(n)
    case TrimHorizon | AtTimestamp(_) | ShardEnd => None
  }

  /** Whether this place comes before the other, as far as the two positions alone decide that. */
  final def isBefore(other: ShardPosition): Boolean = (this, other) match {
    case (ShardEnd, _)                                                           => false
    case (_, ShardEnd)                                                           => true
    case (TrimHorizon, _: AtSequenceNumber | _: AfterSequenceNumber | _: Within) => true
    case (AtTimestamp(x), AtTimestamp(y))                                        => x < y
    case (AfterSequenceNumber(x), AfterSequenceNumber(y))                        => x < y
    case (AtSequenceNumber(x), AtSequenceNumber(y))                              => x < y
    case (AtSequenceNumber(x), AfterSequenceNumber(y))                           => x <= y
    case (AfterSequenceNumber(x), AtSequenceNumber(y))                           => x < y
    case (Within(x, i), Within(y, j))                                            => x < y || (x == y && i < j)
    case (Within(x, _), AfterSequenceNumber(y))                                  => x <= y
    case (Within(x, _), AtSequenceNumber(y))                                     => x < y
    case (AfterSequenceNumber(x), Within(y, _))                                  => x < y
    case (AtSequenceNumber(x), Within(y, _))                                     => x <= y
    case _                                                                       => false
  }
}

object ShardPosition {

  /** The oldest record that the stream still keeps. */
  case object TrimHorizon extends ShardPosition

  /** The first record that arrived at `epochMillis` or later, by the service's clock. */
  final case class AtTimestamp(epochMillis: Long) extends ShardPosition

  /** The record of this number itself. Comes from users only: what has been read is stored as [[AfterSequenceNumber]]. */
  final case class AtSequenceNumber(number: SequenceNumber) extends ShardPosition

  /** What follows the record (or the fan-out continuation) of this number. */
  final case class AfterSequenceNumber(number: SequenceNumber) extends ShardPosition

  /** In the middle of an aggregated record: its user records from this place on come next. A real-time batch ends when its time is
    * over, and then may be there.
    */
  final case class Within(number: SequenceNumber, place: Long) extends ShardPosition

  /** Past the last record of a closed shard: its children are next. */
  case object ShardEnd extends ShardPosition

  /** The text that offsets store: a bare number for the usual case, because an offset holds thousands of them.
    * {{{ TRIM_HORIZON | AT_TIMESTAMP:<epoch ms> | AT_SEQUENCE_NUMBER:<n> | WITHIN:<n>:<place> | <n> (after it) | SHARD_END }}}
    */
  def encode(position: ShardPosition): String = position match {
    case TrimHorizon            => "TRIM_HORIZON"
    case AtTimestamp(ms)        => s"AT_TIMESTAMP:$ms"
    case AtSequenceNumber(n)    => s"AT_SEQUENCE_NUMBER:$n"
    case AfterSequenceNumber(n) => n.text
    case Within(n, place)       => s"WITHIN:$n:$place"
    case ShardEnd               => "SHARD_END"
  }

  /** Also as people write it: in lower case, and with the service's name of what a bare number means. */
  def decode(text: String): Either[String, ShardPosition] = text.toUpperCase(Locale.ROOT).split(":", 3) match {
    case Array("TRIM_HORIZON")            => Right(TrimHorizon)
    case Array("SHARD_END")               => Right(ShardEnd)
    case Array("AT_TIMESTAMP", ms)        => ms.toLongOption.map(AtTimestamp(_)).toRight(s"'$ms' is not a time in ms")
    case Array("AT_SEQUENCE_NUMBER", num) => number(num).map(AtSequenceNumber(_))
    case Array("AFTER_SEQUENCE_NUMBER", num) => number(num).map(AfterSequenceNumber(_))
    case Array("WITHIN", num, place)         =>
      for {
        number <- number(num)
        place  <- place.toLongOption.filter(_ >= 0).toRight(s"'$place' is not a place in a record")
      } yield Within(number, place)
    case _ => number(text).map(AfterSequenceNumber(_))
  }

  private def number(text: String): Either[String, SequenceNumber] =
    SequenceNumber.parse(text).toRight(s"'$text' is neither a sequence number nor a position")
}
