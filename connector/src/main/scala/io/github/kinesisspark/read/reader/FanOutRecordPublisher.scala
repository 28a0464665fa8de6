package io.github.kinesisspark.read.reader

import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory
import software.amazon.awssdk.services.kinesis.model.{StartingPosition, SubscribeToShardEvent, SubscribeToShardRequest}

import io.github.kinesisspark.aws._
import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position.{ConsumerArn, SequenceNumber, Shard, ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.read.reader.FanOutRecordPublisher._
import io.github.kinesisspark.read.reader.RecordPublisher.{Delivery, Sink}
import io.github.kinesisspark.read.reader.Subscription.{Command, Event}
import io.github.kinesisspark.read.reader.SubscriptionCall.News
import io.github.kinesisspark.runtime.{Runtime, Timer, Worker}

/** Reads a shard by SubscribeToShard. [[Subscription]] decides what to do; this class does it, one message after the other.
  *
  * The service pushes; how much it may push is decided here: each request for a delivery lets one event through, and where
  * nobody asks, HTTP/2's flow control holds the service back. An event that comes whole fits into the memory that is taken before it is
  * asked for; for a larger one [[EventMemoryGate]] takes more before it lets it through.
  *
  * Positions that are delivered are those of records, as when polling. The continuation of an event, which moves without
  * records, is kept here alone, for the next call.
  *
  * A closed shard whose subscription has gone quiet without reporting the end is finished by polling.
  *
  * @param start        of the first call, by the clock
  * @param telemetry    of all publishers of the source in this executor
  * @param isNamedSince whether the driver has named this reader since then, by the clock
  */
final class FanOutRecordPublisher(
    shard: ShardKey,
    from: ShardPosition,
    start: Long,
    consumer: ConsumerArn,
    reach: ReadingClient,
    worker: Worker,
    telemetry: ReaderTelemetry,
    finisher: (ShardPosition, Sink) => RecordPublisher,
    isNamedSince: Long => Boolean,
    sink: Sink
)(implicit runtime: Runtime)
    extends RecordPublisher {
  private val log      = LoggerFactory.getLogger(classOf[FanOutRecordPublisher])
  private val messages = new Mailbox[Message](worker, failUnexpectedly)(handle)
  private val gauge    = telemetry.open(shard)
  private val policy   = policyOf(reach.retries)

  @volatile private var closed = false

  // Below: the messages' own.
  private var subscription = Subscription.at(from, start)
  private var call         = Option.empty[SubscriptionCall]
  private var timer        = Option.empty[(Long, Timer)]
  private var reserved     = Option.empty[Long]
  private var position     = from
  private var freshness    = Freshness(runtime.clock.nanos(), runtime.clock.nanos())
  private var shardClosed  = false
  private var quiet        = false
  private var successor    = Option.empty[RecordPublisher]

  override def request(): Unit = if (!closed) {
    val most = (sink.memory.share / 8).min(WholeEvent)
    sink.memory.take(_ => most)(bytes => messages.put(Message.Asked(bytes)))
  }

  override def shardIsClosed(): Unit = messages.put(Message.ShardClosed)

  override def close(): Unit = {
    closed = true
    messages.put(Message.Closed)
  }

  private def handle(message: Message): Unit =
    if (closed) end(message)
    else if (successor.isDefined) passOn(message)
    else {
      message match {
        case Message.Asked(bytes) =>
          reserved = Some(bytes)
          step(Event.Asked)
        case Message.Due(at) =>
          timer = timer.filterNot(_._1 == at)
          step(
            call
              .filter(_.gate.isMoving)
              .fold[Event](Event.Due)(c => Event.Arriving(subscription.calls, c.gate.isWaiting))
          )
        case Message.ShardClosed    => shardClosed = true
        case Message.Of(call, news) => onNews(call, news)
        case Message.Closed         => ()
      }
      if (shardClosed && quiet && subscription.state != Subscription.State.Over) finishByPolling()
      else setTimer()
    }

  /** A failure that nobody expected, such as an OutOfMemoryError while decoding, ends the reader, and the query with it. */
  private def failUnexpectedly(failure: Throwable): Unit =
    if (!closed) giveUp(KinesisFault.exception(Call, where, FaultClassifier.classify(failure)))

  private def onNews(number: Long, news: News): Unit = news match {
    case News.Opened =>
      reach.succeeded()
      step(Event.Opened(number))
      if (isLive) sink.begun()
    case News.Completed               => ended(number, Event.Completed(number))
    case News.Arrived(event, records) =>
      ParsedEvent.of(shard.shardId, event, records, position) match {
        case Right(Some(parsed)) =>
          records.leftToSdk.foreach { cause =>
            SdkDecoding.report(Call, where, cause)
            telemetry.decodedBySdk()
          }
          step(Event.Arrived(number, parsed.resume), Some(parsed))
        case Right(None)  => step(Event.Failed(number, HalfAnEnd))
        case Left(damage) => step(Event.Failed(number, FaultClassifier.classify(damage)))
      }
    case News.Failed(cause) => ended(number, Event.Failed(number, FaultClassifier.classify(cause)))
  }

  /** The service, and the client, end a call whose event waits for memory for minutes: that is no failure. */
  private def ended(number: Long, event: Event): Unit =
    if (call.exists(_.gate.isWaiting)) {
      step(Event.Arriving(number, waits = true))
      step(Event.Completed(number))
    } else step(event)

  private def where = RecordPublisher.place(shard, position)

  private def isLive = subscription.state match {
    case _: Subscription.State.Live => true
    case _                          => false
  }

  private def step(event: Event, arrived: Option[ParsedEvent] = None): Unit = {
    val before = subscription
    val moment =
      Subscription.Moment(runtime.clock.nanos(), runtime.ids.chance(), reach.hasWorked(), isNamedSince)
    val (next, commands) = Subscription.step(before, event, policy, moment)
    subscription = next
    if (next.history.failures > before.history.failures) report(before, event)
    commands.foreach {
      case Command.Subscribe(number, at) => subscribe(number, at)
      case Command.RequestOne            =>
        freshness = freshness.requested(runtime.clock.nanos())
        call.foreach(_.requestOne())
      case Command.Cancel          => cancel()
      case Command.Deliver         => arrived.foreach(deliver)
      case Command.GiveUp(failure) => giveUp(exceptionOf(failure))
    }
    gauge.live = isLive
  }

  private def subscribe(number: Long, at: ShardPosition): Unit = {
    if (number > 1) telemetry.resubscribed()
    log.debug(s"$shard: subscription $number from ${encode(at)}")
    try
      call = Some(
        new SubscriptionCall(requestOf(at), reach.client, sink.memory, news => messages.put(Message.Of(number, news)))
      )
    catch { case NonFatal(e) => messages.put(Message.Of(number, News.Failed(e))) }
  }

  private def deliver(event: ParsedEvent): Unit = {
    val now     = runtime.clock.nanos()
    val records = event.records
    val behind  = event.millisBehind
    val totals  = RecordTotals.of(records)
    freshness = freshness.arrived(now)
    quiet = records.isEmpty && behind == 0
    position =
      if (subscription.resume == ShardEnd) ShardEnd
      else records.lastOption.fold(position)(r => AfterSequenceNumber(r.sequenceNumber))
    gauge.received(now)
    // More than was taken before is counted now.
    sink.memory.giveBack(reserved.getOrElse(0L) + call.fold(0L)(_.gate.takeOver()) - totals.heap)
    reserved = None
    sink.deliver(Delivery(records, totals, position, behind, freshness.asOf, event.children))
  }

  private def report(before: Subscription, event: Event): Unit = {
    val wasLive = before.state.isInstanceOf[Subscription.State.Live]
    val fault   = event match {
      case Event.Failed(_, failure) => failure
      case _                        => Subscription.Silence
    }
    def described = KinesisFault.describe(Call, where, fault)
    val kind      = s"${fault.kind.errorClass} ${shard.stream}"
    fault match {
      case _: Fault.ResourceInUse if wasLive =>
        telemetry.refusedSubscription(shard)
        runtime.lines.warn(log, s"taken over ${shard.stream}", shard)(
          s"$shard: another subscriber of $consumer took the shard over; subscribing again, if the driver still has this executor read it"
        )
      case _: Fault.ResourceInUse | _: Fault.Throttled =>
        telemetry.refusedSubscription(shard)
        runtime.lines.info(log, kind, shard)(s"$described Subscribing again.")
      case _ =>
        telemetry.failedSubscription()
        runtime.lines.warn(log, kind, shard)(s"$described The next subscription begins where this one ended.")
        // Silence, or failures for as long, may mean that the shard has no more to say. A refusal says nothing of the shard.
        quiet = fault.kind == Subscription.Silence.kind || fault.kind == HalfAnEnd.kind || hasFailedForLong
    }
  }

  private def hasFailedForLong =
    subscription.history.since.exists(runtime.clock.nanos() - _ >= Subscription.LongestSilence.toNanos)

  private def exceptionOf(failure: Subscription.Failure): KinesisException = failure match {
    case Subscription.Failure.Contended =>
      new KinesisException(
        ConsumerClaims.InUse,
        s"Another driver reads $shard through consumer $consumer and takes it back again and again. If this query runs twice from one " +
          "checkpoint, stop one of the two, and keep the consumer: it is what keeps them apart. If the other is another query, give this " +
          "one another efo.consumerName (or efo.consumerArn).",
        reason = FailureReason.ConsumerTaken
      )
    case Subscription.Failure.Call(fault) =>
      KinesisFault.exception(Call, where, fault, attempts = subscription.history.failures.max(1))
  }

  private def giveUp(cause: KinesisException): Unit = {
    closed = true
    try release()
    finally sink.fail(cause)
  }

  private def finishByPolling(): Unit = {
    runtime.lines.info(log, s"silent end ${shard.stream}", shard)(
      s"$shard is closed and its subscription is silent: reading to its end by GetRecords"
    )
    val asked = reserved.isDefined
    release()
    val poller = finisher(position, sink)
    successor = Some(poller)
    if (asked) poller.request()
  }

  private def passOn(message: Message): Unit = message match {
    case Message.Asked(bytes) =>
      sink.memory.giveBack(bytes)
      successor.foreach(_.request())
    case _ => ()
  }

  private def end(message: Message): Unit = {
    message match {
      case Message.Asked(bytes) => sink.memory.giveBack(bytes)
      case _                    => ()
    }
    release()
  }

  /** Gives back all that it holds; nothing happens if it holds nothing. */
  private def release(): Unit = {
    cancel()
    reserved.foreach(sink.memory.giveBack)
    reserved = None
    timer.foreach(_._2.cancel())
    timer = None
    gauge.close()
    if (closed) {
      successor.foreach(_.close())
      successor = None
    }
  }

  private def cancel(): Unit = {
    call.foreach(_.cancel())
    call = None
  }

  /** One timer at a time: it is set anew only where it would come too late. */
  private def setTimer(): Unit = if (!closed) {
    subscription.dueAt.filterNot(at => timer.exists(_._1 - at <= 0)).foreach { at =>
      timer.foreach(_._2.cancel())
      timer = Some(at -> worker.schedule(at - runtime.clock.nanos())(messages.put(Message.Due(at))))
    }
  }

  private def requestOf(at: ShardPosition): SubscribeToShardRequest = {
    val start = ReadingStart.at(at)
    SubscribeToShardRequest.builder
      .consumerARN(consumer.text)
      .shardId(shard.shardId)
      .startingPosition(
        StartingPosition.builder
          .`type`(start.kind)
          .timestamp(start.time.orNull)
          .sequenceNumber(start.number.orNull)
          .build
      )
      .build
  }
}

object FanOutRecordPublisher {

  /** As each subscription lasts five minutes, those of publishers that are opened apart stay apart.
    *
    * @param pollers      finish closed shards whose subscriptions don't
    * @param isNamedSince whether the driver has named the shard's reader since then, by the clock of this process
    */
  def factory(
      publisher: ResolvedPublisher.FanOut,
      access: StreamArn => ReadingClient,
      worker: Worker,
      telemetry: ReaderTelemetry,
      starts: StartSchedule,
      pollers: RecordPublisher.Factory,
      isNamedSince: (ShardKey, Long) => Boolean
  )(implicit runtime: Runtime): RecordPublisher.Factory = (shard, position, sink) =>
    new FanOutRecordPublisher(
      shard,
      position,
      starts.next(),
      publisher.consumers(shard.stream),
      access(shard.stream),
      worker,
      telemetry,
      pollers.open(shard, _, _),
      isNamedSince(shard, _),
      sink
    )

  /** A consumer that was registered a moment ago is not known everywhere yet. */
  def policyOf(retries: CallRetries): RetryPolicy = {
    val policy = RetryPolicy.of(Call, retries)
    policy.copy(notFoundRetries = policy.maxRetries.getOrElse(RetryPolicy.SuspectRetries))
  }

  private sealed trait Message
  private object Message {

    /** @param bytes of memory that were taken for what is asked for */
    final case class Asked(bytes: Long)         extends Message
    final case class Of(call: Long, news: News) extends Message
    final case class Due(at: Long)              extends Message
    case object ShardClosed                     extends Message
    case object Closed                          extends Message
  }

  /** An event that shows the shard's end only in part: children without the missing continuation, or the other way round. */
  private val HalfAnEnd: Fault = Fault.Disconnected(
    FaultKind("KINESIS_ANSWER_DAMAGED", "An event showed the shard's end only in part."),
    new DamagedAnswer("Children and a missing continuation belong together")
  )

  private val Call = AwsCall.SubscribeToShard

  /** Where to subscribe again after an event; nothing if it says so in part only: the shard's end is shown by children and a
    * missing continuation together.
    */
  private[reader] def continuation(event: SubscribeToShardEvent): Option[ShardPosition] = {
    val number   = Option(event.continuationSequenceNumber)
    val children = event.hasChildShards && !event.childShards.isEmpty
    number match {
      case Some(text) if !children =>
        SequenceNumber.parse(text).map(AfterSequenceNumber(_)) orElse
          (throw new DamagedAnswer(s"Its continuation is '$text', which is not a sequence number"))
      case None if children => Some(ShardEnd)
      case _                => None
    }
  }

  /** What an event holds.
    *
    * @param resume where to subscribe again
    */
  private final case class ParsedEvent(
      records: Array[KinesisRecord],
      resume: ShardPosition,
      millisBehind: Long,
      children: Vector[Shard]
  )

  private object ParsedEvent {

    /** @return nothing for half an end */
    def of(
        shard: String,
        event: SubscribeToShardEvent,
        records: EventRecordExtractor.Records,
        position: ShardPosition
    ): Either[DamagedAnswer, Option[ParsedEvent]] =
      try
        Right(continuation(event).map { resume =>
          val behind   = Option(event.millisBehindLatest).fold(0L)(_.longValue)
          val children = if (resume == ShardEnd) StreamDirectory.children(shard, event.childShards) else Vector.empty
          ParsedEvent(records.of(event, position), resume, behind, children)
        })
      catch { case damage: DamagedAnswer => Left(damage) }
  }

  /** What HTTP/2 brings at once. */
  private val WholeEvent = 16L << 10

  /** Since when what an event says holds. One that had to be waited for was made just now; one that was there at once may have
    * waited for us, but not longer than since the last one we waited for.
    */
  private final case class Freshness(requestedAt: Long, asOf: Long) {
    def requested(now: Long): Freshness = copy(requestedAt = now)
    def arrived(now: Long): Freshness   = if (now - requestedAt > Freshness.Waited) copy(asOf = now) else this
  }

  private object Freshness {
    private val Waited = 20.millis.toNanos
  }
}
