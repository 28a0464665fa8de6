package io.github.kinesisspark.it.fanout

import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.{ClientKind, FaultClassifier}
import io.github.kinesisspark.it.{ConnectorClients, TestStream}
import io.github.kinesisspark.position.StreamArn
import io.github.kinesisspark.read.reader.{MemoryBudget, SubscriptionCall}
import io.github.kinesisspark.read.reader.SubscriptionCall.News
import io.github.kinesisspark.testkit.model.ConsumerDelays
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule, ResetPoint}

import scala.annotation.tailrec
import scala.concurrent.duration._

/** Tests how faults of subscriptions are classified after they pass through the network, Netty and the SDK. */
final class SubscriptionFaultsSpec extends AnyFunSpec with Matchers with BeforeAndAfterAll {
  private val world  = new ConsumerWorld(ConsumerDelays(Duration.Zero, Duration.Zero))
  private val client = ConnectorClients.lease(world.server.endpoint, ClientKind.Subscriptions)

  override protected def afterAll(): Unit = {
    client.close()
    world.close()
  }

  /** What a subscription ends with: the kind and the class of a failure, or that it completes. */
  private def endOf(stream: StreamArn, consumer: String): (String, String) = {
    val news    = new LinkedBlockingQueue[News]
    val request = TestStream.subscription(consumer, "shardId-000000000000")
    val call    =
      new SubscriptionCall(request, client.client, new MemoryBudget(_.run()).join(64L << 20).account(), news.put)
    @tailrec def end(): (String, String) = news.poll(60, TimeUnit.SECONDS) match {
      case News.Opened | _: News.Arrived =>
        call.requestOne()
        end()
      case News.Completed     => ("Completed", "")
      case News.Failed(cause) =>
        val fault = FaultClassifier.classify(cause)
        (fault.productPrefix, fault.kind.errorClass)
      case null => fail(s"$stream: nothing happens")
    }
    try end()
    finally call.cancel()
  }

  private def endAfter(effect: FaultEffect): (String, String) = {
    val stream = world.newStream()
    val arn    = world.others(stream).register("app")
    // There is an event at once.
    world.server.streams.put(stream.name, "key", "data")
    world.server.faults.add(FaultRule(effect, Some("SubscribeToShard"), Some(stream.name)))
    endOf(stream, arn.text)
  }

  private val events = Seq(
    "ResourceInUseException"    -> ("ResourceInUse", "KINESIS_RESOURCE_IN_USE"),
    "ResourceNotFoundException" -> ("NotFound", "KINESIS_NOT_FOUND"),
    "InternalFailureException"  -> ("Transient", "KINESIS_UNAVAILABLE"),
    "KMSThrottlingException"    -> ("Transient", "KINESIS_KMS_THROTTLED"),
    "KMSAccessDeniedException"  -> ("Fatal", "KINESIS_KMS_DENIED"),
    "KMSDisabledException"      -> ("Fatal", "KINESIS_KMS_DENIED"),
    "KMSInvalidStateException"  -> ("Fatal", "KINESIS_KMS_DENIED"),
    "KMSNotFoundException"      -> ("Fatal", "KINESIS_KMS_DENIED"),
    "KMSOptInRequired"          -> ("Fatal", "KINESIS_KMS_DENIED")
  )

  describe("a failure inside a subscription") {
    for ((code, end) <- events)
      it(s"of $code is classified as ${end._1}")(endAfter(FaultEffect.ErrorEvent(code, "injected")) shouldBe end)

    it("by a reset connection is classified as Disconnected") {
      endAfter(
        FaultEffect.ResetConnection
      )._1 shouldBe "Disconnected" // Lost, or ending: it is seen in the one way or the other.
    }

    it("by a reset HTTP/2 stream completes the subscription, as after five minutes") {
      endAfter(FaultEffect.ResetStream) shouldBe (("Completed", ""))
    }

    it("by a corrupted event is classified as Transient") {
      endAfter(FaultEffect.CorruptFrame) shouldBe (("Transient", "KINESIS_CONNECTION_LOST"))
    }
  }

  describe("a subscription that fails to open") {
    val refusals = Seq(
      "ResourceInUseException"      -> ("ResourceInUse", "KINESIS_RESOURCE_IN_USE"),
      "LimitExceededException"      -> ("Throttled", "KINESIS_THROTTLED"),
      "ResourceNotFoundException"   -> ("NotFound", "KINESIS_NOT_FOUND"),
      "AccessDeniedException"       -> ("Denied", "KINESIS_ACCESS_DENIED"),
      "InvalidArgumentException"    -> ("InvalidArgument", "KINESIS_INVALID_ARGUMENT"),
      "ValidationException"         -> ("InvalidArgument", "KINESIS_REQUEST_REFUSED"),
      "UnrecognizedClientException" -> ("Fatal", "KINESIS_CREDENTIALS_REJECTED"),
      "ExpiredTokenException"       -> ("Suspect", "KINESIS_CREDENTIALS_EXPIRED")
    )
    for ((code, end) <- refusals)
      it(s"with $code is classified as ${end._1}")(endAfter(FaultEffect.ServiceCode(code)) shouldBe end)

    it("with HTTP 500 or 503 is classified as Transient") {
      for (status <- Seq(500, 503))
        endAfter(FaultEffect.HttpStatus(status)) shouldBe (("Transient", "KINESIS_UNAVAILABLE"))
    }

    it("with a reset connection is classified as Disconnected") {
      endAfter(FaultEffect.Reset(ResetPoint.BeforeCall))._1 shouldBe "Disconnected"
    }

    it("with a deregistered consumer is classified as NotFound") {
      val stream = world.newStream()
      val arn    = world.others(stream).register("app")
      world.others(stream).deregister("app")
      endOf(stream, arn.text) shouldBe (("NotFound", "KINESIS_NOT_FOUND"))
    }
  }
}
