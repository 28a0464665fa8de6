package io.github.kinesisspark.aws

import java.time.Instant
import java.util.concurrent.{CompletableFuture, CountDownLatch, TimeUnit}

import scala.collection.mutable

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.KinesisServiceClientConfiguration
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.Generators.stream
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.config.{
  ClientOptions,
  ConsumerChoice,
  CredentialsOptions,
  Deregistration,
  FanOutOptions,
  RegistrationTime,
  StreamOptions,
  StreamRef
}
import io.github.kinesisspark.position.{ConsumerArn, StreamArn}
import io.github.kinesisspark.read.reader.StubKinesis

class FanOutConsumersSpec extends AnyFunSpec with Matchers {
  private val Name    = "reports"
  private val QueryId = "7f0e2c7e-6a0a-4d3c-9f5e-000000000031"

  private def configuration = {
    val builder = KinesisServiceClientConfiguration.builder()
    builder.region(Region.US_EAST_1)
    builder.build()
  }

  /** Consumers of one stream, numbered as they are registered. */
  private final class Service extends StubKinesis {
    private var number = 0
    private var latest = Option.empty[Int]

    /** A consumer is not found for a moment after it was registered. */
    @volatile var isFound = true

    /** Consumers stay CREATING. */
    @volatile var areSlow = false
    val waited            = new CountDownLatch(1)
    val refused           = new CountDownLatch(1)
    val deregistered      = mutable.Buffer.empty[String]

    override def serviceClientConfiguration(): KinesisServiceClientConfiguration = configuration

    def lose(): Unit = synchronized { latest = None }

    private def arn(n: Int) = s"${stream.text}/consumer/$Name:$n"

    private def failed[A](e: Exception) = CompletableFuture.failedFuture[A](e)

    override def registerStreamConsumer(
        request: RegisterStreamConsumerRequest
    ): CompletableFuture[RegisterStreamConsumerResponse] = synchronized {
      if (latest.nonEmpty) {
        refused.countDown()
        failed(ResourceInUseException.builder.message("it exists").build)
      } else {
        number += 1
        latest = Some(number)
        val consumer = Consumer.builder
          .consumerName(Name)
          .consumerARN(arn(number))
          .consumerStatus("CREATING")
          .consumerCreationTimestamp(Instant.EPOCH)
        CompletableFuture.completedFuture(
          RegisterStreamConsumerResponse.builder.consumer(consumer.build).build
        )
      }
    }

    override def describeStreamConsumer(
        request: DescribeStreamConsumerRequest
    ): CompletableFuture[DescribeStreamConsumerResponse] = synchronized {
      latest.filter(n => isFound && Option(request.consumerARN).forall(_ == arn(n))) match {
        case None    => failed(ResourceNotFoundException.builder.message("no such consumer").build)
        case Some(n) =>
          if (areSlow) waited.countDown()
          val consumer = ConsumerDescription.builder
            .consumerName(Name)
            .consumerARN(arn(n))
            .consumerStatus(if (areSlow) "CREATING" else "ACTIVE")
            .consumerCreationTimestamp(Instant.EPOCH)
            .streamARN(stream.text)
          CompletableFuture.completedFuture(
            DescribeStreamConsumerResponse.builder.consumerDescription(consumer.build).build
          )
      }
    }

    override def deregisterStreamConsumer(
        request: DeregisterStreamConsumerRequest
    ): CompletableFuture[DeregisterStreamConsumerResponse] = synchronized {
      deregistered += request.consumerARN
      CompletableFuture.completedFuture(DeregisterStreamConsumerResponse.builder.build)
    }
  }

  /** Each stream has an ACTIVE consumer with the query's tag. */
  private final class Found extends StubKinesis {
    val deregistered = mutable.Buffer.empty[String]

    override def serviceClientConfiguration(): KinesisServiceClientConfiguration = configuration

    override def describeStreamConsumer(
        request: DescribeStreamConsumerRequest
    ): CompletableFuture[DescribeStreamConsumerResponse] = {
      val arn      = Option(request.consumerARN).getOrElse(s"${request.streamARN}/consumer/$Name:1")
      val consumer = ConsumerDescription.builder
        .consumerName(Name)
        .consumerARN(arn)
        .consumerStatus("ACTIVE")
        .consumerCreationTimestamp(Instant.EPOCH)
        .streamARN(arn.split("/consumer").head)
        .build
      CompletableFuture.completedFuture(DescribeStreamConsumerResponse.builder.consumerDescription(consumer).build)
    }

    override def listTagsForResource(
        request: ListTagsForResourceRequest
    ): CompletableFuture[ListTagsForResourceResponse] = {
      val tag = Tag.builder.key(FanOutOptions.OwnerTag).value(QueryId).build
      CompletableFuture.completedFuture(ListTagsForResourceResponse.builder.tags(tag).build)
    }

    override def deregisterStreamConsumer(
        request: DeregisterStreamConsumerRequest
    ): CompletableFuture[DeregisterStreamConsumerResponse] = {
      deregistered += request.consumerARN
      CompletableFuture.completedFuture(DeregisterStreamConsumerResponse.builder.build)
    }
  }

  private def clientsOf(service: StubKinesis) =
    new KinesisClients((_, success) => new KinesisClients.SharedClient(service, success, () => ()))

  private def consumersAt(service: StubKinesis, streams: StreamArn*) = consumersBy(clientsOf(service), streams: _*)

  private def consumersBy(clients: KinesisClients, streams: StreamArn*) = {
    val refs   = streams.map(StreamRef.ByArn(_): StreamRef)
    val access = ClientOptions(Some("us-east-1"), None, CredentialsOptions.DefaultChain)
    val choice = ConsumerChoice.Registered(Name, RegistrationTime.Lazy, Deregistration.OfRegistered)
    FanOutConsumers.open(
      refs.map(StreamOptions(_, access)),
      FanOutOptions(refs.map(_ -> choice).toMap, Map.empty),
      query = Some(QueryId),
      clients
    )
  }

  /** Spark interrupts a query that is stopped. */
  private def interrupted(work: => Any)(meanwhile: => Unit): Unit = {
    val thread = new Thread(() =>
      try work: Unit
      catch { case _: InterruptedException => () }
    )
    thread.start()
    meanwhile
    thread.interrupt()
    thread.join(60000)
    thread.isAlive shouldBe false
  }

  describe("A query whose consumers were there when it began, with its tag,") {
    val other = StreamArn(s"${stream.text}-2")
    val both  = Seq(stream, other).map(arn => s"${arn.text}/consumer/$Name:1")

    it("deregisters all of them at its end") {
      val service   = new Found
      val consumers = consumersAt(service, stream, other)
      consumers.resolve()
      consumers.release()
      service.deregistered shouldBe both
    }

    it("deregisters none of them once another reader has taken one") {
      val service   = new Found
      val consumers = consumersAt(service, stream, other)
      consumers.resolve()
      consumers.leave(stream)
      consumers.release()
      service.deregistered shouldBe empty
    }
  }

  describe("A query that stops while it registers") {
    it("a consumer in place of one that others have deregistered deregisters that one") {
      val service   = new Service
      val consumers = consumersAt(service, stream)
      val first     = consumers.resolve()(stream)
      service.lose()
      service.areSlow = true
      interrupted(consumers.renew(stream))(service.waited.await(1, TimeUnit.MINUTES) shouldBe true)
      consumers.release()
      service.deregistered shouldBe Seq(first.text.replace(":1", ":2"))
    }

    it("a consumer that is not found yet deregisters it, though registering it once more was refused") {
      val service   = new Service
      val consumers = consumersAt(service, stream)
      service.isFound = false
      interrupted(consumers.resolve())(service.refused.await(1, TimeUnit.MINUTES) shouldBe true)
      consumers.release()
      service.deregistered shouldBe Seq(s"${stream.text}/consumer/$Name:1")
    }

    it("a consumer that is not ACTIVE yet is not remembered in the driver") {
      val service   = new Service
      val clients   = clientsOf(service)
      val consumers = consumersBy(clients, stream)
      val arn       = ConsumerArn(s"${stream.text}/consumer/$Name:1")
      service.areSlow = true
      interrupted(consumers.resolve())(service.waited.await(1, TimeUnit.MINUTES) shouldBe true)
      clients.claims.isRegistered(arn) shouldBe true
      consumers.release()
      consumers.close()
      clients.claims.isRegistered(arn) shouldBe false
    }
  }
}
