package io.github.kinesisspark.it.faults

import java.time.Instant
import java.util.concurrent.{CompletableFuture, LinkedBlockingQueue, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

import org.reactivestreams.{Subscriber, Subscription}
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.core.async.SdkPublisher
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.aws.OfflineClient

/** An SDK client whose subscriptions do what a test says, when it says so. */
final class ScriptedSubscriptions extends OfflineClient {
  private val made = new LinkedBlockingQueue[ScriptedSubscriptions.Call]

  /** The next call of SubscribeToShard, in the order they are made. */
  def next(): ScriptedSubscriptions.Call =
    Option(made.poll(30, TimeUnit.SECONDS)).getOrElse(throw new AssertionError("no call within 30 s"))

  /** Calls that no test has taken yet. */
  def pending: Int = made.size

  override def subscribeToShard(
      request: SubscribeToShardRequest,
      handler: SubscribeToShardResponseHandler
  ): CompletableFuture[Void] = {
    val call = new ScriptedSubscriptions.Call(request, handler)
    made.put(call)
    call.answer
  }
}

object ScriptedSubscriptions {

  /** One call. Each method is a signal that the SDK may give on any of its threads, in an order it may not promise. */
  final class Call(val request: SubscribeToShardRequest, handler: SubscribeToShardResponseHandler) {
    val answer                                                                     = new CompletableFuture[Void]
    private val asked                                                              = new AtomicLong
    @volatile private var subscriber: Subscriber[? >: SubscribeToShardEventStream] = _
    @volatile var cancelled                                                        = false

    /** Events that were requested. */
    def requested: Long = asked.get

    def open(): Unit = {
      handler.responseReceived(SubscribeToShardResponse.builder.build)
      handler.onEventStream(SdkPublisher.adapt[SubscribeToShardEventStream] {
        (s: Subscriber[? >: SubscribeToShardEventStream]) =>
          subscriber = s
          s.onSubscribe(new Subscription {
            override def request(n: Long): Unit = asked.addAndGet(n): Unit
            override def cancel(): Unit         = cancelled = true
          })
      })
    }

    /** @param number     of the event's only record; the continuation is the same */
    def bring(number: String): Unit = subscriber.onNext(
      SubscribeToShardEvent.builder
        .records(
          Record.builder
            .sequenceNumber(number)
            .partitionKey("key")
            .data(SdkBytes.fromUtf8String(number))
            .approximateArrivalTimestamp(Instant.EPOCH)
            .build
        )
        .continuationSequenceNumber(number)
        .millisBehindLatest(0L)
        .build
    )

    def failStream(cause: Throwable): Unit  = subscriber.onError(cause)
    def failHandler(cause: Throwable): Unit = handler.exceptionOccurred(cause)
    def failFuture(cause: Throwable): Unit  = answer.completeExceptionally(cause): Unit
    def completeStream(): Unit              = subscriber.onComplete()
    def completeFuture(): Unit              = { handler.complete(); answer.complete(null): Unit }
  }
}
