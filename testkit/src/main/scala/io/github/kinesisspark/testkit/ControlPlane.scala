package io.github.kinesisspark.testkit

import io.github.kinesisspark.testkit.model.Quota

import scala.concurrent.duration._

/** How the calls that list, describe and change streams behave. The defaults are kind: everything takes effect and is
  * listed at once. All times are of the service's clock.
  *
  * @param reshardsAtEnd whether a reshard takes effect when the stream's `updateDelay` is over, and not when it begins
  * @param listingLag how long ListShards, DescribeStream and DescribeStreamSummary show a stream as it was before a reshard; the first two also show a
  *   shard for so long that has gone past retention
  * @param consumersPerStream 20; an account with On-demand Advantage has 50
  * @param consumersKeepStream whether DeleteStream refuses a stream with consumers, unless `EnforceConsumerDeletion` is given
  * @see [[https://docs.aws.amazon.com/streams/latest/dev/kinesis-using-sdk-java-after-resharding.html After a reshard]]
  * @see [[https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html Quotas and limits]]
  */
final case class ControlPlane(
    reshardsAtEnd: Boolean = false,
    listingLag: FiniteDuration = Duration.Zero,
    consumersPerStream: Int = Quota.ConsumersPerStream,
    consumersKeepStream: Boolean = false
)

object ControlPlane {

  /** Short delays, so that tests stay quick. */
  val realistic: ControlPlane =
    ControlPlane(reshardsAtEnd = true, listingLag = 300.millis, consumersKeepStream = true)
}
