package io.github.kinesisspark.it.source

import java.util.concurrent.{CompletableFuture, TimeUnit}
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import org.reactivestreams.{Subscriber, Subscription}
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy
import software.amazon.awssdk.core.async.SdkPublisher
import software.amazon.awssdk.http.Protocol
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.it.{KinesisService, TestStream}

/** Another application that reads a shard through the same consumer. It subscribes again a few times per second
  * whenever its subscription ends or is refused.
  */
final class RivalSubscriber(service: KinesisService, consumerArn: String, shardId: String) extends AutoCloseable {
  private val client: KinesisAsyncClient = service.newClient(Protocol.HTTP2, AwsRetryStrategy.doNotRetry())
  private val opened                     = new AtomicInteger
  private val received                   = new AtomicInteger
  private val current                    = new AtomicReference(Option.empty[Subscription])
  @volatile private var closed           = false

  private lazy val soon = CompletableFuture.delayedExecutor(200, TimeUnit.MILLISECONDS)

  subscribe()

  /** How often it has won the shard. */
  def lives: Int = opened.get

  def records: Int = received.get

  override def close(): Unit = {
    closed = true
    current.get.foreach(_.cancel())
    client.close()
  }

  private def subscribe(): Unit = if (!closed) {
    val request = TestStream.subscription(consumerArn, shardId)
    client.subscribeToShard(request, handler).whenCompleteAsync((_, _) => subscribe(), soon): Unit
  }

  private def handler = new SubscribeToShardResponseHandler {
    override def responseReceived(response: SubscribeToShardResponse): Unit             = ()
    override def exceptionOccurred(failure: Throwable): Unit                            = ()
    override def complete(): Unit                                                       = ()
    override def onEventStream(events: SdkPublisher[SubscribeToShardEventStream]): Unit = events.subscribe(taker)
  }

  private def taker = new Subscriber[SubscribeToShardEventStream] {
    override def onSubscribe(s: Subscription): Unit = {
      opened.incrementAndGet()
      current.set(Some(s))
      s.request(Long.MaxValue)
    }
    override def onNext(event: SubscribeToShardEventStream): Unit = event match {
      case e: SubscribeToShardEvent => received.addAndGet(e.records.size): Unit
      case _                        => ()
    }
    override def onError(failure: Throwable): Unit = ()
    override def onComplete(): Unit                = ()
  }
}
