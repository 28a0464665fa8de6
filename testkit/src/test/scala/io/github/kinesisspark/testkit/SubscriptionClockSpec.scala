package io.github.kinesisspark.testkit

import software.amazon.awssdk.http.Protocol

import java.time.Duration
import scala.concurrent.duration._

/** Tests heartbeats and ends of subscriptions on clocks that advance by themselves. */
class SubscriptionClockSpec extends ServerSpec {
  import Clients._
  import Subscriber._

  private def subscribed(clock: ServiceClock, settings: SubscriptionSettings): Subscriber = {
    val running = closing(KinesisServer.start(KinesisServerConfig(clock = clock, subscriptions = settings)))
    val sdk     = closing(client(running.endpoint, Protocol.HTTP2))
    running.streams.createStream("events", 1)
    new Subscriber(sdk, sdk.register(arnOf("events")), shardId(0), latest).opened()
  }

  it("subscriptions on the system clock receive heartbeats and complete by themselves") {
    val beating = subscribed(ServiceClock.system, SubscriptionSettings(heartbeat = 50.millis))
    (1 to 3).foreach(_ => beating.event().records shouldBe empty)
    // No beat is due before the end, for however long the machine stands still.
    subscribed(ServiceClock.system, SubscriptionSettings(life = 1.second, heartbeat = 1.hour)).completes()
  }

  it("subscriptions on a shifted clock receive heartbeats and complete as soon as it is advanced") {
    val jumping = ServiceClock.shifted()
    // So long that nothing comes by itself.
    val sub = subscribed(jumping, SubscriptionSettings(life = 2.hours, heartbeat = 1.hour))
    jumping.advance(Duration.ofMinutes(61))
    sub.event().records shouldBe empty
    jumping.advance(Duration.ofHours(1))
    sub.completes()
  }
}
