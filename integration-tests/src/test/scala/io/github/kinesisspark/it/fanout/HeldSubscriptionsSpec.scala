package io.github.kinesisspark.it.fanout

import java.net.URI
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.reactivestreams.{Subscriber, Subscription}
import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.time.{Millis, Seconds, Span}
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.core.async.SdkPublisher
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.aws.ClientKind
import io.github.kinesisspark.it.{ConnectorClients, TestStream}
import io.github.kinesisspark.testkit.{KinesisServer, KinesisServerConfig}

/** Tests what subscriptions that nobody reads take from the others on their connection. */
final class HeldSubscriptionsSpec extends AnyFunSpec with Matchers with Eventually {
  private val shards = 16

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(180, Seconds), Span(20, Millis))

  private def leased[A](kind: ClientKind, endpoint: URI)(body: KinesisAsyncClient => A): A =
    Using.resource(ConnectorClients.lease(endpoint, kind))(lease => body(lease.client))

  for (held <- Seq(0, shards / 2 + 1, shards - 1))
    it(s"a shard of $shards is read to its end while $held are not read at all") {
      Using.resource(KinesisServer.start(KinesisServerConfig())) { server =>
        leased(ClientKind.Calls, server.endpoint) { calls =>
          val consumer = filled(calls)
          leased(ClientKind.Subscriptions, server.endpoint) { subscriptions =>
            val ids     = calls.listShards(r => r.streamName("s"): Unit).join().shards.asScala.map(_.shardId).toVector
            val waiting = ids.drop(1).take(held).map(new Reader(subscriptions, consumer, _, demand = 0))
            eventually(waiting.foreach(_.isOpen shouldBe true))
            val read      = new Reader(subscriptions, consumer, ids.head, demand = Long.MaxValue)
            val isAllRead = read.done.await(180, SECONDS)
            withClue(s"of ${perShard * RecordBytes} bytes, ${read.bytes.get} came: ")(isAllRead shouldBe true)
            (read +: waiting).foreach(_.cancel())
          }
        }
      }
    }

  private val RecordBytes = 500000
  private val perShard    = 24

  /** So much in each shard that its stream's window is full, and the window of the connection as well if nothing is given back. */
  private def filled(calls: KinesisAsyncClient): String = {
    calls.createStream(r => r.streamName("s").shardCount(shards): Unit).join()
    val data = SdkBytes.fromByteArrayUnsafe(new Array[Byte](RecordBytes))
    val keys = calls.listShards(r => r.streamName("s"): Unit).join().shards.asScala.map(_.hashKeyRange.startingHashKey)
    for (key <- keys; _ <- 0 until perShard / 4) {
      val entries = Seq.fill(4)(
        PutRecordsRequestEntry.builder.partitionKey("k").explicitHashKey(key).data(data).build
      )
      calls.putRecords(r => r.streamName("s").records(entries.asJava): Unit).join()
    }
    val arn = calls.describeStreamSummary(r => r.streamName("s"): Unit).join().streamDescriptionSummary.streamARN
    calls.registerStreamConsumer(r => r.streamARN(arn).consumerName("c"): Unit).join().consumer.consumerARN
  }

  private final class Reader(client: KinesisAsyncClient, consumer: String, shard: String, demand: Long)
      extends SubscribeToShardResponseHandler
      with Subscriber[SubscribeToShardEventStream] {
    val bytes                  = new AtomicLong
    val done                   = new CountDownLatch(1)
    @volatile private var flow = Option.empty[Subscription]
    private val call           = client.subscribeToShard(TestStream.subscription(consumer, shard), this)

    def isOpen: Boolean = flow.isDefined
    def cancel(): Unit  = {
      flow.foreach(_.cancel())
      call.cancel(true): Unit
    }

    override def responseReceived(response: SubscribeToShardResponse): Unit             = ()
    override def exceptionOccurred(failure: Throwable): Unit                            = ()
    override def complete(): Unit                                                       = ()
    override def onEventStream(events: SdkPublisher[SubscribeToShardEventStream]): Unit = events.subscribe(this)

    override def onSubscribe(subscription: Subscription): Unit = {
      flow = Some(subscription)
      if (demand > 0) subscription.request(demand)
    }
    override def onNext(event: SubscribeToShardEventStream): Unit = event match {
      case one: SubscribeToShardEvent =>
        val now = bytes.addAndGet(one.records.asScala.iterator.map(_.data.asByteArrayUnsafe.length.toLong).sum)
        if (now >= perShard.toLong * RecordBytes) done.countDown()
      case _ => ()
    }
    override def onError(failure: Throwable): Unit = ()
    override def onComplete(): Unit                = ()
  }
}
