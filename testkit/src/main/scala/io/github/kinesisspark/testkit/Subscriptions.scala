package io.github.kinesisspark.testkit

import io.github.kinesisspark.testkit.model.{Consumer, ReadPosition, ShardStore, Stream}
import io.github.kinesisspark.testkit.subscription.{Place, Seat, Subscription, Timetable}

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong
import scala.jdk.CollectionConverters._

/** A subscription that has more to send.
  *
  * @param sinceMillis when it was accepted, on the service's clock
  * @param events how many it has been sent, and how many records were in them
  */
final case class LiveSubscription(
    consumerArn: String,
    stream: String,
    shardId: String,
    sinceMillis: Long,
    events: Long,
    records: Long
)

/** The subscriptions of SubscribeToShard, for tests to look at. */
final class Subscriptions private[testkit] (config: KinesisServerConfig, faults: FaultPlan) {
  private val places        = new ConcurrentHashMap[Subscriptions.Key, Place]
  private val accepted      = new AtomicLong
  private[testkit] val time = new Timetable(config.clock)

  /** Those that are open, the oldest first. One that ends is gone before its client knows; one that a client has left is gone
    * when the server has noticed; one that another took over is there until it is its turn to say so.
    */
  def live: Vector[LiveSubscription] = places.values.asScala.iterator
    .flatMap(_.open)
    .map { s =>
      val sent = s.progress
      LiveSubscription(s.consumer.arn, s.stream.name, s.shardId, s.sinceMillis, sent.events, sent.records)
    }
    .toVector
    .sortBy(_.sinceMillis)

  /** How many there have been. */
  def opened: Long = accepted.get

  /** The most that were open at the same time for one shard, by the ARN of the consumer. */
  def mostAtOnce: Map[String, Int] =
    places.asScala.iterator
      .map { case (key, place) => key.consumerArn -> place.mostOpen }
      .toVector
      .groupMapReduce(_._1)(_._2)(math.max)

  /** Accepts a call, or says why not. Whoever gets the subscription closes it. */
  private[testkit] def open(
      stream: Stream,
      consumer: Consumer,
      shard: ShardStore,
      from: ReadPosition
  ): Either[Seat.Refusal, Subscription] = {
    val now   = config.clock.millis
    val place =
      places.computeIfAbsent(Subscriptions.Key(stream.incarnation, consumer.arn, shard.info.id), _ => new Place(now))
    val taken = place.take(now, config.enforceLimits, config.subscriptions.takeoverAfter.toMillis)(
      new Subscription(stream, consumer, shard, from, place, config, faults)
    )
    taken.foreach(_ => accepted.incrementAndGet())
    taken
  }

  private[testkit] def close(): Unit = time.close()
}

private[testkit] object Subscriptions {

  /** @param incarnation of the stream: one that is made anew under the name may have a consumer of the same ARN */
  final case class Key(incarnation: Int, consumerArn: String, shardId: String)
}
