package io.github.kinesisspark.testkit

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}
import software.amazon.awssdk.http.Protocol
import software.amazon.awssdk.services.kinesis.model.StartingPosition

/** A suite about subscriptions: clients that speak HTTP/2, and consumers to subscribe for. */
abstract class SubscriptionSuite extends ServerSpec with Eventually {
  import Clients._

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(10, Millis))

  protected lazy val h2c = closing(client(server.endpoint, Protocol.HTTP2))

  protected def consumer(stream: String, name: String = "reader"): String = kinesis.register(arnOf(stream), name)

  protected def subscribe(
      arn: String,
      position: StartingPosition = Subscriber.trimHorizon,
      shard: Int = 0,
      demand: Long = Long.MaxValue
  ): Subscriber = new Subscriber(h2c, arn, shardId(shard), position, demand)

  protected def liveOf(arn: String): Vector[LiveSubscription] =
    server.subscriptions.live.filter(_.consumerArn == arn)
}
