package io.github.kinesisspark.read.reader

import java.util.concurrent.CompletableFuture

import org.reactivestreams.{Subscriber, Subscription => Flow}
import software.amazon.awssdk.core.async.SdkPublisher
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.aws.ResponseFilter
import io.github.kinesisspark.read.reader.SubscriptionCall.News

/** One call of SubscribeToShard. Turns what the SDK does on its threads into news, in the order it happens, and keeps no
  * SDK thread waiting. It brings one event for each that is requested.
  */
final class SubscriptionCall(
    request: SubscribeToShardRequest,
    client: KinesisAsyncClient,
    memory: MemoryBudget.Account,
    onNews: News => Unit
) extends SubscribeToShardResponseHandler
    with Subscriber[SubscribeToShardEventStream] {

  @volatile private var flow      = Option.empty[Flow]
  @volatile private var cancelled = false

  /** Has memory for the events that come. */
  val gate = new EventMemoryGate(memory)

  private val bodies = new EventRecordExtractor(gate)

  private val answer: CompletableFuture[Void] =
    client.subscribeToShard(
      request.toBuilder.overrideConfiguration(ResponseFilter.configuration(bodies).build).build,
      this
    )
  // What happens to a call that brings no stream of events shows in the future alone. Where there is one, the future may
  // be done before the last events are taken.
  answer.whenComplete { (_, failure) =>
    if (failure != null) onNews(News.Failed(failure)) else if (flow.isEmpty) onNews(News.Completed)
  }

  def requestOne(): Unit = {
    gate.look()
    flow.foreach(_.request(1))
  }

  /** Ends the call; the service may count it for a while longer. */
  def cancel(): Unit = {
    cancelled = true
    gate.close()
    // Not both: cancelling the answer of an open stream makes the SDK log what it calls an unhandled exception.
    flow.fold(answer.cancel(true): Unit)(_.cancel())
  }

  override def onSubscribe(opened: Flow): Unit = {
    flow = Some(opened)
    if (cancelled) opened.cancel() else onNews(News.Opened)
  }

  override def onNext(member: SubscribeToShardEventStream): Unit = member match {
    case event: SubscribeToShardEvent => onNews(News.Arrived(event, bodies.next()))
    // Of a kind that this SDK doesn't know. What was asked for is an event with records.
    case _ => requestOne()
  }

  override def onError(failure: Throwable): Unit           = onNews(News.Failed(failure))
  override def onComplete(): Unit                          = onNews(News.Completed)
  override def exceptionOccurred(failure: Throwable): Unit = onNews(News.Failed(failure))
  override def complete(): Unit                            = ()

  override def responseReceived(response: SubscribeToShardResponse): Unit = ()

  override def onEventStream(events: SdkPublisher[SubscribeToShardEventStream]): Unit = events.subscribe(this)
}

object SubscriptionCall {
  sealed trait News
  object News {
    case object Opened                                                                            extends News
    final case class Arrived(event: SubscribeToShardEvent, records: EventRecordExtractor.Records) extends News
    case object Completed                                                                         extends News
    final case class Failed(cause: Throwable)                                                     extends News
  }
}
