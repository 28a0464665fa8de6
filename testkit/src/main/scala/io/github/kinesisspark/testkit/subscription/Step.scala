package io.github.kinesisspark.testkit.subscription

import io.github.kinesisspark.testkit.model.ShardStore.Ahead

/** What a subscription does next, by nothing but the time and what lies ahead of it in the shard. */
sealed trait Step
object Step {
  case object Send     extends Step
  case object Complete extends Step

  /** @param until milliseconds of the service's clock; or until something happens to the shard */
  final case class Wait(until: Long) extends Step

  /** When a subscription may or must do what, in milliseconds of the service's clock.
    *
    * @param beat an event must come then, with records or without
    * @param free no records before that, for the limit on bytes
    * @param over its life ends
    */
  final case class Due(beat: Long, free: Long, over: Long)

  def next(now: Long, ahead: Ahead, due: Due): Step = {
    val at = ahead match {
      case Ahead.Records => due.free
      case Ahead.Gap     => now
      case Ahead.End     => now
      case Ahead.Nothing => due.beat
    }
    if (now >= due.over) Complete
    else if (now >= at) Send
    else Wait(math.min(at, due.over))
  }
}
