package io.github.kinesisspark.config

/** How shards are read by GetRecords.
  *
  * @param callsPerSecond of a shard, at most
  */
final case class PollingOptions(callsPerSecond: Int)

object PollingOptions extends OptionGroup(OptionScope.Source) {

  val callsPerSecond: Opt[Int] = option(
    "polling.callsPerSecond",
    OptionValue.countUpTo(5),
    default = "5",
    doc = "How many GetRecords calls a second a shard with records gets at most, from 1 to 5. The service takes 5, from all who " +
      "poll the shard together: give less where others poll the stream, too. A query takes the same share of a shard's 2 MB/s " +
      "as of its calls: three fifths at 3. At 5, a query that catches up takes all bytes that a shard gives, and nine tenths where the shard refuses calls: the service may refuse calls of others, too. An idle shard gets one, or less where an " +
      "executor has more than 250 of them. At 5, a shard at an `endpoint` outside AWS that gives more than AWS's 2 MiB a second is " +
      "called without a pause until it refuses a call, as local servers often have no limits."
  )

  /** Where no option is given. */
  lazy val Default: PollingOptions = read(OptionView.empty)

  private[config] def read(view: OptionView): PollingOptions = PollingOptions(view(callsPerSecond))
}
