package io.github.kinesisspark.config

import scala.concurrent.duration._

import OptionScope.{Both, Sink, Source}

/** How each call of AWS is made again after a failure.
  *
  * @param byCall      every call of [[CallRetries.retries]], by its name in the service's API
  * @param maxDuration `maxRetryDuration`, from the first failure in a row
  * @param attemptTime of one attempt, except PutRecords and subscriptions
  */
final case class CallRetries(
    byCall: Map[String, RetryOptions],
    maxDuration: FiniteDuration,
    attemptTime: FiniteDuration = CallRetries.LeastAttemptTime
) {

  def of(call: String): RetryOptions = byCall(call)

  /** After which an attempt is given up that the SDK never ends: its credentials are resolved within it, too. */
  def stuckTime: FiniteDuration = attemptTime * 2

  def within(duration: FiniteDuration): CallRetries = copy(maxDuration = duration)
}

object CallRetries extends OptionGroup(OptionScope.Both) {

  /** For an answer of 10 MiB on a slow way. */
  private val LeastAttemptTime = 1.minute

  /** How each call of AWS is retried, by the call's name in the service's API: this table is the only place that knows their defaults. The
    * waits of the consumers' calls are those of FLIP-128, which has neither DescribeStreamConsumer nor calls of tags. Flink's connector came to wait 2 s in its place;
    * a consumer may be ACTIVE sooner, and a stream may be asked 20 times a second. Those of the credentials' calls are the AWS SDK's.
    */
  val retries: Seq[RetryGroup] = Seq(
    new RetryGroup("DescribeStreamSummary", Source, "300ms", "5s", "2.0"),
    new RetryGroup(
      "ListShards",
      Both,
      "300ms",
      "5s",
      "2.0",
      notes = "A listing of new shards that fails is repeated by the next."
    ),
    new RetryGroup("GetShardIterator", Source, "250ms", "5s", "2.0", notes = "Refusals by a limit don't count."),
    new RetryGroup(
      "GetRecords",
      Source,
      "250ms",
      "5s",
      "2.0",
      notes = "Counted in a row of a shard, with GetShardIterator's failures. Refusals by a limit don't count."
    ),
    new RetryGroup(
      "SubscribeToShard",
      Source,
      "1s",
      "2s",
      "1.5",
      notes =
        "Counted in a row of a shard without an event between. Refusals by a limit, or because of another subscription, don't count."
    ),
    new RetryGroup("RegisterStreamConsumer", Source, "200ms", "1s", "1.5"),
    new RetryGroup(
      "DescribeStreamConsumer",
      Source,
      "200ms",
      "5s",
      "1.5",
      notes = "Waits for a consumer that is CREATING or DELETING count as well."
    ),
    new RetryGroup("ListStreamConsumers", Source, "200ms", "1s", "1.5"),
    new RetryGroup(
      "DeregisterStreamConsumer",
      Source,
      "200ms",
      "1s",
      "1.5",
      notes = "For 30 s at most where a query ends, which waits for it."
    ),
    new RetryGroup("ListTagsForResource", Source, "200ms", "1s", "1.5", notes = "For 30 s at most."),
    new RetryGroup("TagResource", Source, "200ms", "1s", "1.5", notes = "For 30 s at most."),
    new RetryGroup(
      "PutRecords",
      Sink,
      "200ms",
      "10s",
      "2.0",
      notes =
        "Counted in a row of a task and stream. Calls refused by a limit don't count; single records that a shard " +
          "refuses are sent again at that shard's pace."
    ),
    new RetryGroup("PutMetricData", Source, "200ms", "5s", "2.0", Some("0"), "Within `cloudWatch.interval`."),
    ofCredentials("AssumeRole"),
    ofCredentials("AssumeRoleWithWebIdentity"),
    ofCredentials("GetRoleCredentials"),
    ofCredentials("CreateToken"),
    ofCredentials("CreateOAuth2Token")
  )

  val maxRetryDuration: Opt[FiniteDuration] = option(
    "maxRetryDuration",
    OptionValue.duration,
    default = "15m",
    doc =
      "How long calls are retried, from the first failure in a row, before the query fails: HTTP 5xx, lost connections, DNS, TLS and " +
        "whatever else can pass. The sink counts from the first refusal of a record. Throttled reads are retried without end, and what cannot pass, such as " +
        "a missing permission, fails at once. A host, port, certificate or credentials that have never worked fail after a few attempts."
  )

  /** Where no option is given. */
  lazy val default: CallRetries = read(OptionView.empty)

  /** Those of a call that isn't in the view's scope are their defaults. */
  private[config] def read(view: OptionView): CallRetries =
    CallRetries(
      retries.map(group => group.call -> group.read(view)).toMap,
      view(maxRetryDuration),
      LeastAttemptTime.max(
        view(ConnectionOptions.connectTimeout) + view(ConnectionOptions.readTimeout).getOrElse(
          ConnectionOptions.Silence
        )
      )
    )

  private def ofCredentials(call: String) = new RetryGroup(
    call,
    Both,
    "100ms",
    "20s",
    "2.0",
    Some("3"),
    "Within the time of one call, which `readTimeout` names; then the call that waits for the credentials is retried."
  )
}

/** The waits grow from `base` by `factor` up to `max`, and each is a random part of that (full jitter).
  *
  * @param maxRetries attempts after the first, 0 for none; left out, `maxRetryDuration` alone is the limit
  * @param max        at least `base`
  * @param factor     at least 1
  */
final case class RetryOptions(maxRetries: Option[Int], base: FiniteDuration, max: FiniteDuration, factor: Double)

/** The four options of one call.
  *
  * @param call           its name in the service's API
  * @param longestAtFirst of the waits, as `growth` and `longest`: defaults
  * @param attempts       the default of `maxRetries`; left out, `maxRetryDuration` alone is the limit
  * @param notes          which failures `maxRetries` leaves out, and what else bounds the retries; Markdown
  */
final class RetryGroup private[config] (
    val call: String,
    val scope: OptionScope,
    longestAtFirst: String,
    longest: String,
    growth: String,
    attempts: Option[String] = None,
    val notes: String = ""
) extends OptionGroup(scope) {

  /** What the options' names begin with. */
  val prefix: String = s"${call.head.toLower}${call.tail}"

  val maxRetries: Opt[Option[Int]] = optional(
    s"$prefix.maxRetries",
    OptionValue.countOrZero,
    default = attempts,
    doc = s"The most retries of $call in a row."
  )

  val base: Opt[FiniteDuration] = option(
    s"$prefix.backoff.base",
    OptionValue.durationAtLeast(1.millis),
    default = longestAtFirst,
    doc = s"The longest wait before the second attempt of $call."
  )

  val max: Opt[FiniteDuration] = option(
    s"$prefix.backoff.max",
    OptionValue.durationAtLeast(1.millis),
    default = longest,
    doc = s"The longest wait before any attempt of $call."
  )

  val factor: Opt[Double] = option(
    s"$prefix.backoff.expConst",
    OptionValue.numberAtLeast(1.0),
    default = growth,
    doc = s"By which the longest wait grows from one attempt of $call to the next."
  )

  private[config] def read(view: OptionView): RetryOptions = {
    val read = RetryOptions(view(maxRetries), view(base), view(max), view(factor))
    if (read.base > read.max)
      view.report(
        s"'${view.key(base)}' (${read.base.toCoarsest}) is more than '${view.key(max)}' (${read.max.toCoarsest})."
      )
    read
  }
}
