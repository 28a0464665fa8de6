package io.github.kinesisspark.testkit

import org.reactivestreams.{Subscriber => Reactive, Subscription => Demand}
import org.scalatest.Assertions._
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._

import java.util.concurrent.{CompletableFuture, LinkedBlockingQueue, TimeUnit}
import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

/** One call of SubscribeToShard by an SDK client, and what it receives, in order.
  *
  * @param demand how many events it asks for at first
  */
final class Subscriber(
    client: KinesisAsyncClient,
    consumerArn: String,
    shardId: String,
    position: StartingPosition,
    demand: Long = Long.MaxValue
) {
  import Subscriber._

  private val signals              = new LinkedBlockingQueue[Signal]
  private val granted              = new CompletableFuture[Demand]
  @volatile private var isAnswered = false

  private val reactive = new Reactive[SubscribeToShardEventStream] {
    def onSubscribe(s: Demand): Unit                     = { granted.complete(s); if (demand > 0) s.request(demand) }
    def onNext(event: SubscribeToShardEventStream): Unit =
      signals.add(Signal.Event(event.asInstanceOf[SubscribeToShardEvent]))
    def onError(cause: Throwable): Unit = ()
    def onComplete(): Unit              = ()
  }

  private val call: CompletableFuture[Void] = client.subscribeToShard(
    SubscribeToShardRequest.builder.consumerARN(consumerArn).shardId(shardId).startingPosition(position).build(),
    SubscribeToShardResponseHandler.builder
      .onResponse { (_: SubscribeToShardResponse) => isAnswered = true }
      .onEventStream(_.subscribe(reactive))
      .build()
  )
  call.whenComplete { (_, cause) =>
    signals.add(if (cause == null) Signal.Completed else Signal.Failed(rootOf(cause)))
    ()
  }

  /** Whether the SDK saw the initial response. */
  def answered: Boolean = isAnswered

  /** Waits until the call was accepted, or gives its error. */
  def opened(): Subscriber = {
    CompletableFuture
      .anyOf(granted, call.handle[Unit]((_, cause) => if (cause != null) throw rootOf(cause)))
      .get(Patience, TimeUnit.SECONDS)
    this
  }

  def request(events: Long): Unit = granted.get(Patience, TimeUnit.SECONDS).request(events)
  def cancel(): Unit              = granted.get(Patience, TimeUnit.SECONDS).cancel()

  def signal(): Signal = Option(signals.poll(Patience, TimeUnit.SECONDS)).getOrElse(fail("Nothing came"))

  /** What has come and was not looked at. */
  def pending: Int = signals.size

  def event(): SubscribeToShardEvent = signal() match {
    case Signal.Event(event) => event
    case other               => fail(s"An event was expected, and $other came")
  }

  def failure(): Throwable = signal() match {
    case Signal.Failed(cause) => cause
    case other                => fail(s"A failure was expected, and $other came")
  }

  def completes(): Unit = signal() match {
    case Signal.Completed => ()
    case other            => fail(s"The end was expected, and $other came")
  }

  /** The data of that many records at least, in as many events as it takes. */
  def texts(count: Int): Vector[String] = {
    @tailrec def more(had: Vector[String]): Vector[String] =
      if (had.size >= count) had else more(had ++ Subscriber.texts(event()))
    more(Vector.empty)
  }
}

object Subscriber {
  private val Patience = 60L

  sealed trait Signal
  object Signal {
    final case class Event(event: SubscribeToShardEvent) extends Signal
    final case class Failed(cause: Throwable)            extends Signal
    case object Completed                                extends Signal
  }

  def texts(event: SubscribeToShardEvent): Vector[String] = event.records.asScala.map(_.data.asUtf8String).toVector

  def position(kind: ShardIteratorType, more: StartingPosition.Builder => Any = identity): StartingPosition = {
    val builder = StartingPosition.builder.`type`(kind)
    more(builder)
    builder.build()
  }

  val trimHorizon: StartingPosition        = position(ShardIteratorType.TRIM_HORIZON)
  val latest: StartingPosition             = position(ShardIteratorType.LATEST)
  def at(number: String): StartingPosition =
    position(ShardIteratorType.AT_SEQUENCE_NUMBER, _.sequenceNumber(number))
  def following(number: String): StartingPosition =
    position(ShardIteratorType.AFTER_SEQUENCE_NUMBER, _.sequenceNumber(number))
  def from(time: java.time.Instant): StartingPosition = position(ShardIteratorType.AT_TIMESTAMP, _.timestamp(time))

  @tailrec private def rootOf(cause: Throwable): Throwable = cause match {
    case e: java.util.concurrent.CompletionException if e.getCause != null => rootOf(e.getCause)
    case e                                                                 => e
  }
}
