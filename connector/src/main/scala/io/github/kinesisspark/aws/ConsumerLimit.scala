package io.github.kinesisspark.aws

/** Which limit a RegisterStreamConsumer ran into: the service has one code, LimitExceeded, for all of them.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_RegisterStreamConsumer.html RegisterStreamConsumer]]
  */
private[aws] sealed trait ConsumerLimit

private[aws] object ConsumerLimit {

  /** More than 5 calls a second of the account. */
  case object Calls extends ConsumerLimit

  /** 5 consumers are CREATING already; they are ACTIVE, and out of the way, in a while. */
  case object Creating extends ConsumerLimit

  /** The stream has as many consumers as it may have. */
  case object Consumers extends ConsumerLimit

  /** At once, of one stream. */
  val MostCreating = 5

  /** Of one stream, but [[MostOfAnyStream]] with On-demand Advantage. */
  val MostOfAStream   = 20
  val MostOfAnyStream = 50

  /** @param said    the service's message
    * @param present the stream's consumers, none if they aren't known
    * @param before  refusals before this one: a stream of 20 to 49 consumers may have its quota or be of those that may have more, and then
    *                the limit was that of calls, which a second try after a pause doesn't meet again
    */
  def of(said: String, present: Seq[StreamConsumer], before: Int): ConsumerLimit =
    if (present.count(_.status == ConsumerStatus.Creating) >= MostCreating) Creating
    else if (SaysRate.findFirstIn(said).isDefined) Calls
    else if (present.size >= MostOfAnyStream || (present.size >= MostOfAStream && before > 0)) Consumers
    else Calls

  private val SaysRate = "(?i)\\brate\\b".r
}
