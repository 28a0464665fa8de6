package io.github.kinesisspark.it.fanout

import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, FanOutOptions, Secret}
import io.github.kinesisspark.position.{ConsumerArn, StreamArn}
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import scala.jdk.CollectionConverters._

/** Changes to a stream's consumers by another application, through the SDK alone. */
final class Others(world: ConsumerWorld, stream: StreamArn) {

  def register(name: String): ConsumerArn = call(client =>
    ConsumerArn(
      client.registerStreamConsumer(r => r.streamARN(stream.text).consumerName(name): Unit).join.consumer.consumerARN
    )
  )

  def deregister(name: String): Unit = call { client =>
    client.deregisterStreamConsumer(r => r.streamARN(stream.text).consumerName(name): Unit).join
    ()
  }

  /** Name and status of each. */
  def list(): Map[String, String] = call(
    _.listStreamConsumers(r => r.streamARN(stream.text): Unit).join.consumers.asScala
      .map(c => c.consumerName -> c.consumerStatusAsString)
      .toMap
  )

  /** The value of the tag by which a query knows the consumer of that name. */
  def owner(name: String): Option[String] = tags(
    ConsumerArn(
      call(
        _.describeStreamConsumer(r =>
          r.streamARN(stream.text).consumerName(name): Unit
        ).join.consumerDescription.consumerARN
      )
    )
  ).get(FanOutOptions.OwnerTag)

  def tags(consumer: ConsumerArn): Map[String, String] = call(
    _.listTagsForResource(r => r.resourceARN(consumer.text): Unit).join.tags.asScala.map(t => t.key -> t.value).toMap
  )

  private def call[A](body: KinesisAsyncClient => A): A = {
    val keys  = CredentialsOptions.StaticKeys(new Secret("other"), new Secret("other"), None)
    val lease = KinesisClients.ofJvm.lease(ClientOptions(None, Some(world.server.endpoint), keys), world.server.region)
    try body(lease.client)
    finally lease.close()
  }
}
