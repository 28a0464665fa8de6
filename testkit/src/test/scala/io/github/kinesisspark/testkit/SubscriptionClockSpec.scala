package io.github.kinesisspark.testkit

import software.amazon.awssdk.http.Protocol
import software.amazon.awssdk.services.kinesis.model.RegisterStreamConsumerRequest

import java.time.Duration
import scala.concurrent.duration._

/** Subscriptions on clocks that run. */
class SubscriptionClockSpec extends ServerSpec {
  import Clients._
  import Subscriber._

  private def subscribed(clock: ServiceClock, settings: SubscriptionSettings): Subscriber = {
    val running = closing(KinesisServer.start(KinesisServerConfig(clock = clock, subscriptions = settings)))
    val sdk     = closing(client(running.endpoint, Protocol.HTTP2))
    running.streams.createStream("events", 1)
    val arn = await(sdk.registerStreamConsumer { (b: RegisterStreamConsumerRequest.Builder) =>
      b.streamARN("arn:aws:kinesis:us-east-1:000000000000:stream/events").consumerName("reader"); ()
    }).consumer.consumerARN
    new Subscriber(sdk, arn, shardId(0), latest).opened()
  }

  it("beat and end by themselves") {
    val sub             = subscribed(ServiceClock.system, SubscriptionSettings(life = 3.seconds, heartbeat = 50.millis))
    val (beats, ending) = Iterator.continually(sub.signal()).span {
      case Signal.Event(_) => true
      case _               => false
    }
    val told = beats.collect { case Signal.Event(event) => event }.toVector
    told.size should be >= 3
    told.foreach(_.records shouldBe empty)
    ending.next() shouldBe Signal.Completed
  }

  it("beat and end at once when the clock jumps") {
    val jumping = ServiceClock.shifted()
    val sub     = subscribed(jumping, SubscriptionSettings())
    jumping.advance(Duration.ofSeconds(6))
    sub.event().records shouldBe empty
    jumping.advance(Duration.ofMinutes(5))
    sub.completes()
  }
}
