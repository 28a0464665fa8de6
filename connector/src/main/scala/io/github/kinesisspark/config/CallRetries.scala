package io.github.kinesisspark.config

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration.FiniteDuration

/** How each call of AWS is made again after a failure.
  *
  * @param byCall      every call of [[OptionRegistry.retries]], by its name in the service's API
  * @param maxDuration `maxRetryDuration`, from the first failure in a row
  */
final case class CallRetries(byCall: Map[String, RetryOptions], maxDuration: FiniteDuration) {

  def of(call: String): RetryOptions = byCall(call)

  def within(duration: FiniteDuration): CallRetries = copy(maxDuration = duration)
}

object CallRetries {

  /** Where no option is given. */
  lazy val default: CallRetries = read(new OptionView(Map.empty, ListBuffer.empty), ListBuffer.empty)

  /** Those of a call that isn't in the view's scope are their defaults. */
  private[config] def read(view: OptionView, problems: ListBuffer[String]): CallRetries = CallRetries(
    OptionRegistry.retries.map(opts => opts.call -> retriesOf(opts, view, problems)).toMap,
    required(view, OptionRegistry.maxRetryDuration)
  )

  private def retriesOf(opts: RetryOpts, view: OptionView, problems: ListBuffer[String]): RetryOptions = {
    val read = RetryOptions(
      view.value(opts.maxRetries),
      required(view, opts.base),
      required(view, opts.max),
      required(view, opts.factor)
    )
    if (read.base > read.max)
      problems += s"'${view.key(opts.base)}' (${read.base.toCoarsest}) is more than '${view.key(opts.max)}' (${read.max.toCoarsest})."
    read
  }

  private def required[A](view: OptionView, option: Opt[A]): A =
    view.value(option).getOrElse(throw new NoSuchElementException(s"${option.name} has no default"))
}

/** The waits grow from `base` by `factor` up to `max`, and each is a random part of that (full jitter).
  *
  * @param maxRetries attempts after the first, 0 for none; left out, `maxRetryDuration` alone is the limit
  * @param max        at least `base`
  * @param factor     at least 1
  */
final case class RetryOptions(maxRetries: Option[Int], base: FiniteDuration, max: FiniteDuration, factor: Double)

/** The four options of one call, whose names begin with [[prefix]].
  *
  * @param call  its name in the service's API
  * @param notes which failures `maxRetries` leaves out, and what else bounds the retries; Markdown
  */
final case class RetryOpts(
    call: String,
    notes: String,
    maxRetries: Opt[Int],
    base: Opt[FiniteDuration],
    max: Opt[FiniteDuration],
    factor: Opt[Double]
) {
  def prefix: String = RetryOpts.prefix(call)

  def all: Seq[Opt[?]] = Seq(maxRetries, base, max, factor)
}

private[config] object RetryOpts {
  def prefix(call: String): String = s"${call.head.toLower}${call.tail}"
}
