package io.github.kinesisspark.write.send

/** How large calls and records may be, as far as the service has told by its answers.
  *
  * A call may have 10 MiB with its keys; before 2025, and on servers that are like it was then, 5 MiB. A record may have 1 MiB
  * everywhere, and up to 10 MiB where the stream's MaxRecordSize says so. Neither is asked for, which would take permissions that
  * a writer needs for nothing else. A record larger than what the stream has been seen to take goes in a call by itself, so that a refusal concerns
  * no other.
  *
  * @param provenRecord a record of this size is known to be taken
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html PutRecords]]
  */
final case class SizeLimits(callBytes: Long = SizeLimits.NewCall, provenRecord: Int = 1 << 20) {

  /** Whether the stream has yet to show that it takes such a record. */
  def isProbe(size: Int): Boolean = size > provenRecord

  def taken(size: Int): SizeLimits = if (isProbe(size)) copy(provenRecord = size) else this

  /** What is left to try after a call of so many bytes was found invalid. */
  def afterInvalid(bytes: Long): Option[SizeLimits] =
    Option.when(bytes > SizeLimits.OldCall)(copy(callBytes = SizeLimits.OldCall))
}

object SizeLimits {
  val MaxRecords: Int = 500

  private val NewCall = 10L << 20
  private val OldCall = 5L << 20
}
