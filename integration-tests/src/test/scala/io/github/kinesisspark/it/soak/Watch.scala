package io.github.kinesisspark.it.soak

import io.github.kinesisspark.testkit.LiveSubscription

import scala.concurrent.duration._

/** Watches for two subscriptions of one shard that live at the same time. The server knows a subscription that its client has
  * left, or that has been taken over, until it has written or noticed the end; so what counts is for how long.
  *
  * @param together pairs that live now, and since when, in ms
  */
final case class Watch(together: Map[Watch.Pair, Long], longest: FiniteDuration) {
  import Watch._

  def see(live: Iterable[LiveSubscription], nowMillis: Long): Watch = {
    val pairs =
      live.groupBy(_.shardId).valuesIterator.flatMap(s => s.map(Holder.of).toVector.combinations(2)).map(Pair.of)
    val now = pairs.map(pair => pair -> together.getOrElse(pair, nowMillis)).toMap
    Watch(now, (longest +: now.values.map(since => (nowMillis - since).millis).toVector).max)
  }
}

object Watch {
  val start: Watch = Watch(Map.empty, Duration.Zero)

  /** A subscription, without what changes while it lives. */
  final case class Holder(consumerArn: String, shardId: String, sinceMillis: Long)
  object Holder {
    def of(s: LiveSubscription): Holder = Holder(s.consumerArn, s.shardId, s.sinceMillis)
  }

  final case class Pair(holders: Set[Holder])
  object Pair {
    def of(holders: Iterable[Holder]): Pair = Pair(holders.toSet)
  }
}
