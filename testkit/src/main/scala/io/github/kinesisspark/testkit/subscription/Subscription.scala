package io.github.kinesisspark.testkit.subscription

import io.github.kinesisspark.testkit.KinesisServerConfig
import io.github.kinesisspark.testkit.model._

/** One reader's subscription to a shard, from the call that was accepted to the end of the answer. It knows nothing of
  * how it is written: its writer asks it for one turn after the other, and only when the last one is done, so that
  * nothing is read from the shard that could not be written.
  *
  * @param from where it begins
  */
final private[testkit] class Subscription(
    val stream: Stream,
    val consumer: Consumer,
    store: ShardStore,
    from: ReadPosition,
    place: Place,
    config: KinesisServerConfig
) {
  import Subscription._

  private val settings  = config.subscriptions
  val sinceMillis: Long = config.clock.millis
  val shardId: String   = store.info.id

  // Touched by the writer's turns alone, which come one after the other.
  private var position  = from
  private var toldAt    = sinceMillis
  private var lastIsOut = false

  @volatile private var isTakenOver      = false
  @volatile private var onChange: Change = () => ()
  @volatile private var told             = Told(0, 0)

  /** What it has told so far. */
  def progress: Told = told

  /** Has the writer called whenever it should ask for another turn; it may be called for nothing. */
  def start(change: Change): Unit = {
    onChange = change
    store.watch(change)
  }

  /** The answer is over, however it ended. */
  def close(): Unit = {
    store.unwatch(onChange)
    place.leave(this)
  }

  /** A newer subscription has its place. */
  def takenOver(): Unit = {
    isTakenOver = true
    onChange.run()
  }

  def next(): Turn = {
    val now = config.clock.millis
    if (lastIsOut) Turn.Complete
    else
      loss(now).map(Turn.Fail(_)).getOrElse {
        Step.next(now, store.ahead(position, now), due(now)) match {
          case Step.Tell        => tell(now)
          case Step.Complete    => Turn.Complete
          case Step.Wait(until) => Turn.Wait(until)
        }
      }
  }

  private def due(now: Long): Step.Due = Step.Due(
    beat = toldAt + settings.heartbeat.toMillis,
    free = if (config.enforceLimits) place.freeFrom(now) else now,
    over = sinceMillis + settings.life.toMillis
  )

  private def loss(now: Long): Option[ServiceError] = {
    val registry = stream.consumers
    if (isTakenOver)
      Some(ServiceError.inUse(s"Another subscription of consumer ${consumer.arn} to shard $shardId has taken over."))
    else if (stream.status == StreamStatus.Deleting)
      Some(ServiceError.streamNotFound(stream.name, config.accountId))
    else if (registry.findArn(consumer.arn, now).forall(registry.status(_, now) == ConsumerStatus.Deleting))
      Some(ServiceError.notFound(s"Consumer ${consumer.arn} not found."))
    else None
  }

  private def tell(now: Long): Turn = {
    val event = store.event(position, settings.maxEventRecords, settings.maxEventBytes, now, stream.horizon)
    event.lastOrdinal.foreach(ordinal => position = ReadPosition.AtOrdinal(ordinal + 1))
    if (config.enforceLimits) place.charge(event.slices.bytes, now)
    toldAt = now
    told = told.and(event.slices.count)
    lastIsOut = event.last
    Turn.Say(
      SubscriptionEvent(
        event.slices,
        Option.unless(event.last)(event.continuation),
        event.millisBehind,
        Option.when(event.last)(stream.children(shardId))
      )
    )
  }
}

private[testkit] object Subscription {
  type Change = Runnable

  /** How much a subscription has told. */
  final case class Told(events: Long, records: Long) {
    def and(more: Int): Told = Told(events + 1, records + more)
  }
}
