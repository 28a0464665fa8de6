package io.github.kinesisspark.testkit.model

/** How far into a shard one call may look.
  *
  * @param spanMillis how much of the shard's time; all of it if absent
  * @param records how many records
  */
final private[testkit] case class Scan(spanMillis: Option[Long], records: Int) {

  /** Until what arrival time a call finds records that begins at `from`; no end if that includes the tip. */
  def end(from: Long, now: Long): Long = spanMillis match {
    case Some(span) if from <= now - span => from + span
    case _                                => Scan.NoEnd
  }
}

private[testkit] object Scan {
  val NoEnd: Long = Long.MaxValue
}
