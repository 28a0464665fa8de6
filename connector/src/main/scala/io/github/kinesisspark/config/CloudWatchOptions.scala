package io.github.kinesisspark.config

import java.net.URI

import scala.concurrent.duration._

/** Where a source's metrics are published.
  *
  * @param endpoint instead of the region's own
  */
final case class CloudWatchOptions(namespace: String, interval: FiniteDuration, endpoint: Option[URI])

object CloudWatchOptions extends OptionGroup(OptionScope.Source) {

  val namespace: Opt[Option[String]] = optional(
    "cloudWatch.namespace",
    OptionValue.matching(
      "(?!AWS/)[A-Za-z0-9._/#:-]{1,255}",
      "a namespace of CloudWatch, of letters, digits and ._/#:-, that doesn't begin with AWS/"
    ),
    doc =
      "The namespace in CloudWatch under which the source's metrics are published, with the names of its streams, sorted and joined by `+`, " +
        "as the dimension `Streams`. Left out, nothing is published and no call is made. AWS charges for each metric, and for each call."
  )

  val interval: Opt[FiniteDuration] = option(
    "cloudWatch.interval",
    OptionValue.durationAtLeast(1.second),
    default = "1m",
    doc = "How often metrics are published to CloudWatch: one call of PutMetricData each time."
  )

  val endpoint: Opt[Option[URI]] = optional(
    "cloudWatch.endpoint",
    OptionValue.endpoint,
    doc =
      "The address of CloudWatch instead of the region's own: a VPC endpoint or a local server. Left out, AWS_ENDPOINT_URL_CLOUDWATCH, " +
        "AWS_ENDPOINT_URL or the profile may name it."
  )

  /** None where nothing is published. */
  private[config] def read(view: OptionView): Option[CloudWatchOptions] = {
    for (other <- Seq(interval, endpoint) if view.has(other) && !view.has(namespace))
      view.report(s"'${view.key(other)}' is given without '${namespace.name}', so nothing is published. Set that, too.")
    val (every, address) = (view(interval), view(endpoint))
    view(namespace).map(CloudWatchOptions(_, every, address))
  }
}
