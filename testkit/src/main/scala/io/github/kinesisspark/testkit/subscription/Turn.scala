package io.github.kinesisspark.testkit.subscription

import io.github.kinesisspark.testkit.model.{RecordLog, ServiceError, ShardInfo}

/** What a subscription has its answer's writer do. */
sealed private[testkit] trait Turn
private[testkit] object Turn {
  final case class Say(event: SubscriptionEvent) extends Turn

  /** Says it, with a wrong checksum. */
  final case class Garble(event: SubscriptionEvent) extends Turn

  /** Says why, and ends. */
  final case class Fail(error: ServiceError) extends Turn

  /** Ends, without a word. */
  case object Complete extends Turn

  case object ResetStream     extends Turn
  case object ResetConnection extends Turn

  /** Nothing any more, whatever happens. */
  case object Silence extends Turn

  /** Nothing until that time of the service's clock, or until something happens. */
  final case class Wait(untilMillis: Long) extends Turn
}

/** One SubscribeToShardEvent.
  *
  * @param continuation absent from the last one of a closed shard
  * @param millisBehind how far the records sent are behind the shard's tip
  * @param children in the last one of a closed shard
  */
final private[testkit] case class SubscriptionEvent(
    slices: RecordLog.Slices,
    continuation: Option[String],
    millisBehind: Long,
    children: Option[Vector[ShardInfo]]
) {

  /** Either without the other is not the end. */
  def isEnd: Boolean = continuation.isEmpty && children.nonEmpty
}
