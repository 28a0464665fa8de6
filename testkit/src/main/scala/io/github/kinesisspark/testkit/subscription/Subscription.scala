package io.github.kinesisspark.testkit.subscription

import io.github.kinesisspark.testkit._
import io.github.kinesisspark.testkit.model.ShardStore.Ahead
import io.github.kinesisspark.testkit.model._

import scala.reflect.ClassTag

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
    config: KinesisServerConfig,
    faults: FaultPlan
) {
  import Subscription._

  private val settings  = config.subscriptions
  val sinceMillis: Long = config.clock.millis
  val shardId: String   = store.info.id
  private val over      = sinceMillis + settings.life.toMillis

  // Touched by the writer's turns alone, which come one after the other.
  private var position     = from
  private var sentAt       = sinceMillis
  private var endWasDue    = false
  private var phase: Phase = Phase.Sending

  @volatile private var isTakenOver        = false
  @volatile private var onChange: Runnable = () => ()
  @volatile private var sent               = Sent(0, 0)

  /** What it has sent so far. */
  def progress: Sent = sent

  /** Has the writer called whenever it should ask for another turn; it may be called for nothing. */
  def start(change: Runnable): Unit = {
    onChange = change
    store.watch(change)
  }

  /** The answer has come to its end. */
  def close(): Unit = leave(None)

  /** The client is gone. */
  def abandoned(): Unit = leave(
    struck[FaultEffect.PlaceHeld](FaultMoment.Leaving).headOption.map(config.clock.millis + _.by.toMillis)
  )

  /** A newer subscription has its place. */
  def takenOver(): Unit = {
    isTakenOver = true
    onChange.run()
  }

  def next(): Turn = {
    val now  = config.clock.millis
    val turn = phase match {
      case Phase.Over(turn) => turn
      case _                =>
        loss(now).getOrElse {
          Step.next(now, ahead(now), due(now)) match {
            case Step.Send        => send(now)
            case Step.Complete    => Turn.Complete
            case Step.Wait(until) => Turn.Wait(until)
          }
        }
    }
    turn match {
      case Turn.Say(event)    => onSent(event, now)
      case Turn.Garble(event) => onSent(event, now)
      case Turn.Wait(_)       => ()
      case Turn.Silence       => phase = Phase.Over(Turn.Silence)
      case _                  => phase = Phase.Over(Turn.Complete)
    }
    turn
  }

  /** Why it must end now, if it must. */
  private def loss(now: Long): Option[Turn] = {
    val registry = stream.consumers
    val error    =
      if (isTakenOver)
        Some(ServiceError.inUse(s"Another subscription of consumer ${consumer.arn} to shard $shardId has taken over."))
      else if (stream.status == StreamStatus.Deleting)
        Some(ServiceError.streamNotFound(stream.name, config.accountId))
      else if (registry.findArn(consumer.arn, now).forall(registry.status(_, now) == ConsumerStatus.Deleting))
        Some(ServiceError.notFound(s"Consumer ${consumer.arn} not found."))
      else None
    error.map(Turn.Fail(_))
  }

  // The end is news only once; if a fault kept it back, it comes again with the next heartbeat.
  private def ahead(now: Long): Ahead = phase match {
    case Phase.Late(_, _) => Ahead.Nothing
    case _                =>
      store.ahead(position, now) match {
        case Ahead.End if endWasDue => Ahead.Nothing
        case Ahead.Nothing          =>
          position = position.atTip
          Ahead.Nothing
        case other => other
      }
  }

  private def due(now: Long): Step.Due = Step.Due(
    beat = phase match {
      case Phase.Late(_, untilMillis) => untilMillis
      case _                          => sentAt + settings.heartbeat.toMillis
    },
    free = if (config.enforceLimits) place.freeFrom(now) else now,
    over = over
  )

  private def send(now: Long): Turn = phase match {
    case Phase.Late(turn, _) => turn
    case _                   =>
      val next   = store.event(position, settings.maxEventRecords, settings.maxEventBytes, now, stream.horizon)
      val faults = struck[EventFault](FaultMoment.Event(sent.events + 1, next.last))
      val event  = EventFaults.emptyFor(faults).fold(next)(store.emptyEvent(position, _, now))
      val turn   = EventFaults.play(written(event), event.continuation, faults)
      val delay  = EventFaults.delayMillis(faults)
      position = event.next
      if (config.enforceLimits) place.charge(event.slices.bytes, now)
      endWasDue = event.last
      if (delay == 0) turn
      else {
        phase = Phase.Late(turn, now + delay)
        Turn.Wait(math.min(now + delay, over))
      }
  }

  private def onSent(event: SubscriptionEvent, now: Long): Unit = {
    sentAt = now
    sent = sent.and(event.slices.count)
    phase = if (event.isEnd) Phase.Over(Turn.Complete) else Phase.Sending
  }

  private def written(event: ShardStore.Event): SubscriptionEvent = SubscriptionEvent(
    event.slices,
    Option.unless(event.last)(event.continuation),
    event.millisBehind,
    Option.when(event.last)(stream.children(shardId))
  )

  private def struck[F <: FaultEffect: ClassTag](moment: FaultMoment): Vector[F] =
    if (faults.isEmpty) Vector.empty
    else
      faults
        .strike(FaultTarget(SubscribeToShard, Some(stream.name), Set(shardId), moment))
        .map(_.rule.effect)
        .collect { case effect: F => effect }

  private def leave(held: Option[Long]): Unit = {
    store.unwatch(onChange)
    place.leave(this, held)
  }
}

private[testkit] object Subscription {
  private val SubscribeToShard = "SubscribeToShard"

  /** How much a subscription has sent. */
  final case class Sent(events: Long, records: Long) {
    def and(more: Int): Sent = Sent(events + 1, records + more)
  }

  sealed private trait Phase
  private object Phase {
    case object Sending extends Phase

    /** What was read from the shard is to be sent later than it should. */
    final case class Late(turn: Turn, untilMillis: Long) extends Phase

    /** Nothing new, but this. */
    final case class Over(turn: Turn) extends Phase
  }
}
