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
import io.github.kinesisspark.read.reader.StubKinesis

class FanOutConsumersSpec extends AnyFunSpec with Matchers {
  private val Name = "reports"

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

    override def serviceClientConfiguration(): KinesisServiceClientConfiguration = {
      val builder = KinesisServiceClientConfiguration.builder()
      builder.region(Region.US_EAST_1)
      builder.build()
    }

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

  private def consumersAt(service: Service) = {
    val clients = new KinesisClients((_, success) => new KinesisClients.SharedClient(service, success, () => ()))
    val ref     = StreamRef.ByArn(stream)
    val access  = ClientOptions(Some("us-east-1"), None, CredentialsOptions.DefaultChain)
    val choice  = ConsumerChoice.Registered(Name, RegistrationTime.Lazy, Deregistration.OfRegistered)
    FanOutConsumers.open(
      Seq(StreamOptions(ref, access, None, None)),
      FanOutOptions(Map(ref -> choice), Map.empty),
      query = Some("7f0e2c7e-6a0a-4d3c-9f5e-000000000031"),
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

  describe("A query that stops while it registers") {
    it("a consumer in place of one that others have deregistered deregisters that one") {
      val service   = new Service
      val consumers = consumersAt(service)
      val first     = consumers.resolve()(stream)
      service.lose()
      service.areSlow = true
      interrupted(consumers.renew(stream))(service.waited.await(1, TimeUnit.MINUTES) shouldBe true)
      consumers.release()
      service.deregistered shouldBe Seq(first.text.replace(":1", ":2"))
    }

    it("a consumer that is not found yet deregisters it, though registering it once more was refused") {
      val service   = new Service
      val consumers = consumersAt(service)
      service.isFound = false
      interrupted(consumers.resolve())(service.refused.await(1, TimeUnit.MINUTES) shouldBe true)
      consumers.release()
      service.deregistered shouldBe Seq(s"${stream.text}/consumer/$Name:1")
    }
  }
}
