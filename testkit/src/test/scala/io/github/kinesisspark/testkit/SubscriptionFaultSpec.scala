package io.github.kinesisspark.testkit

import org.scalatest.BeforeAndAfterEach
import software.amazon.awssdk.core.exception.SdkClientException
import software.amazon.awssdk.services.kinesis.model._

import java.time.Duration
import scala.concurrent.duration._

/** Tests the effect of fault rules on SubscribeToShard of an SDK client: on the call, and inside the subscription. */
class SubscriptionFaultSpec extends SubscriptionSuite with BeforeAndAfterEach {
  import Subscriber._

  /** What earlier tests have left open would beat when the clock is moved, and a rule might strike that. */
  override protected def beforeEach(): Unit = {
    server.faults.clear()
    clock.advance(Duration.ofMinutes(5))
    eventually(server.subscriptions.live shouldBe empty): Unit
  }

  private def plan(effect: FaultEffect, occurrence: Occurrence = Occurrence.First(1), afterEvents: Long = 0): Unit =
    server.faults.add(
      FaultRule(effect, action = Some("SubscribeToShard"), occurrence = occurrence, afterEvents = afterEvents)
    )

  /** A stream with a record in it, and its consumer. */
  private def prepared(): (String, String) = {
    val stream = newStream(1)
    server.streams.put(stream, "k", "1")
    (stream, consumer(stream))
  }

  /** Past the time in which a second subscription is refused, which is a heartbeat's time too. */
  private def later(): Unit = clock.advance(Duration.ofSeconds(5))

  /** That the server has nothing left of it, and that a new one gets everything. */
  private def recovers(arn: String): Unit = {
    eventually(liveOf(arn) shouldBe empty)
    later()
    subscribe(arn).texts(1).head shouldBe "1"
    ()
  }

  describe("A SubscribeToShard call") {
    Seq[(String, FaultEffect)](
      "a service error"                -> FaultEffect.ServiceCode("InternalFailure", status = 500),
      "an HTTP 503 without a body"     -> FaultEffect.HttpStatus(503),
      "a reset before the call"        -> FaultEffect.Reset(ResetPoint.BeforeCall),
      "a reset after the call"         -> FaultEffect.Reset(ResetPoint.AfterCall),
      "a reset inside the first frame" -> FaultEffect.Reset(ResetPoint.InsideBody),
      "noise instead of a first frame" -> FaultEffect.GarbageBody
    ).foreach { case (name, effect) =>
      it(s"fails after $name, and the next call succeeds") {
        val (_, arn) = prepared()
        plan(effect)
        val sub = subscribe(arn)
        sub.failure() shouldBe an[Exception]
        sub.answered shouldBe false
        recovers(arn)
      }
    }

    it("completes without an answer after half of the first frame, and the next call succeeds") {
      val (_, arn) = prepared()
      plan(FaultEffect.TruncatedBody)
      val sub = subscribe(arn)
      sub.completes()
      sub.answered shouldBe false
      recovers(arn)
    }

    it("is answered later by the given delay") {
      val (_, arn) = prepared()
      plan(FaultEffect.Delay(120.millis))
      val began = System.nanoTime
      subscribe(arn).opened()
      (System.nanoTime - began) / 1000000 should be >= 120L
    }
  }

  describe("An error event") {
    Seq(
      "InternalFailureException"  -> classOf[InternalFailureException],
      "KMSAccessDeniedException"  -> classOf[KmsAccessDeniedException],
      "KMSDisabledException"      -> classOf[KmsDisabledException],
      "KMSInvalidStateException"  -> classOf[KmsInvalidStateException],
      "KMSNotFoundException"      -> classOf[KmsNotFoundException],
      "KMSOptInRequired"          -> classOf[KmsOptInRequiredException],
      "KMSThrottlingException"    -> classOf[KmsThrottlingException],
      "ResourceInUseException"    -> classOf[ResourceInUseException],
      "ResourceNotFoundException" -> classOf[ResourceNotFoundException],
      "LimitExceededException"    -> classOf[KinesisException]
    ).foreach { case (code, error) =>
      it(s"$code ends the subscription with that error, and the next subscription succeeds") {
        val (stream, arn) = prepared()
        plan(FaultEffect.ErrorEvent(code, "the reason"), afterEvents = 1)
        val sub = subscribe(arn)
        sub.texts(1) shouldBe Vector("1")
        server.streams.put(stream, "k", "2")
        val cause = sub.failure()
        cause.getClass shouldBe error
        cause.getMessage should include("the reason")
        recovers(arn)
      }
    }
  }

  describe("An event") {
    it("is lost if its HTTP/2 stream is reset, and other subscriptions of the connection live on") {
      val (_, other) = prepared()
      val neighbour  = subscribe(other, latest).opened()
      val (_, arn)   = prepared()
      plan(FaultEffect.ResetStream)
      subscribe(arn).completes() // The SDK takes the reset of a stream for its end.
      eventually(liveOf(arn) shouldBe empty)
      liveOf(other) should have size 1
      neighbour.pending shouldBe 0
    }

    it("is lost if its connection is reset, as are all subscriptions of the connection") {
      val (_, other) = prepared()
      val neighbour  = subscribe(other, latest).opened()
      val (_, arn)   = prepared()
      plan(FaultEffect.ResetConnection)
      subscribe(arn).failure() shouldBe an[SdkClientException]
      neighbour.failure() shouldBe an[SdkClientException]
      eventually(server.subscriptions.live shouldBe empty)
    }

    it("and all later ones are withheld by Silence, while the subscription stays open") {
      val (stream, arn) = prepared()
      plan(FaultEffect.Silence, afterEvents = 1)
      val sub = subscribe(arn)
      sub.texts(1) shouldBe Vector("1")
      server.streams.put(stream, "k", "2")
      eventually(server.faults.hits shouldBe 1)
      clock.advance(Duration.ofMinutes(10))
      val second = subscribe(arn)
      second.texts(2) shouldBe Vector("1", "2")
      sub.pending shouldBe 0
      liveOf(arn) should have size 2
      sub.cancel()
      eventually(liveOf(arn) should have size 1)
    }

    it("is withheld by AbruptEnd, and the subscription completes") {
      val (stream, arn) = prepared()
      plan(FaultEffect.AbruptEnd, afterEvents = 1)
      val sub = subscribe(arn)
      sub.texts(1) shouldBe Vector("1")
      server.streams.put(stream, "k", "2")
      sub.completes()
      recovers(arn)
    }

    it("and all later ones are delayed in order by DelayEvent") {
      val (stream, arn) = prepared()
      plan(FaultEffect.DelayEvent(3.seconds))
      val sub = subscribe(arn)
      eventually(server.faults.hits shouldBe 1)
      server.streams.put(stream, "k", "2")
      clock.advance(Duration.ofMillis(2999))
      liveOf(arn).map(_.events) shouldBe Vector(0)
      clock.advance(Duration.ofMillis(1))
      sub.texts(2) shouldBe Vector("1", "2")
    }

    it("is preceded by an empty event with EmptyEvent, from which a reader can resume without loss") {
      val (stream, arn) = prepared()
      server.streams.put(stream, "k", "2")
      plan(FaultEffect.EmptyEvent(7000))
      val sub   = subscribe(arn)
      val empty = sub.event()
      empty.records.isEmpty shouldBe true
      empty.millisBehindLatest shouldBe 7000
      sub.texts(2) shouldBe Vector("1", "2")
      sub.cancel()
      later()
      subscribe(arn, following(empty.continuationSequenceNumber)).texts(2) shouldBe Vector("1", "2")
    }

    it("that is corrupted ends the subscription with an error at the client") {
      val (_, arn) = prepared()
      plan(FaultEffect.CorruptFrame)
      val sub = subscribe(arn)
      sub.failure() shouldBe an[Exception]
      sub.answered shouldBe true
      recovers(arn)
    }

    it("has no continuation with ContinuationMissing, and the subscription stays open") {
      val (stream, arn) = prepared()
      plan(FaultEffect.ContinuationMissing)
      val sub   = subscribe(arn)
      val event = sub.event()
      texts(event) shouldBe Vector("1")
      event.continuationSequenceNumber shouldBe null
      event.hasChildShards shouldBe false
      server.streams.put(stream, "k", "2")
      sub.texts(1) shouldBe Vector("2")
    }
  }

  describe("The end of a closed shard") {
    def closed(): (String, Subscriber) = {
      val (stream, arn) = prepared()
      server.streams.split(stream, shardId(0))
      val sub = subscribe(arn)
      sub.texts(1) shouldBe Vector("1")
      (arn, sub)
    }

    it("is sent with a continuation first, and correctly after it") {
      plan(FaultEffect.EndWithContinuation)
      val (_, sub) = closed()
      val half     = sub.event()
      half.childShards should have size 2
      half.continuationSequenceNumber should not be null
      later()
      val end = sub.event()
      end.childShards should have size 2
      end.continuationSequenceNumber shouldBe null
      sub.completes()
    }

    it("is sent without children first, and correctly after it") {
      plan(FaultEffect.ContinuationMissing, afterEvents = 1)
      val (_, sub) = closed()
      val half     = sub.event()
      half.hasChildShards shouldBe false
      half.continuationSequenceNumber shouldBe null
      later()
      sub.event().childShards should have size 2
      sub.completes()
    }

    it("is withheld by EndWithheld, while heartbeats arrive and the subscription stays open") {
      plan(FaultEffect.EndWithheld, Occurrence.Always)
      val (arn, sub) = closed()
      val numbers    = (1 to 3).map { _ =>
        val beat = sub.event()
        beat.records shouldBe empty
        beat.hasChildShards shouldBe false
        later()
        BigInt(beat.continuationSequenceNumber)
      }
      numbers shouldBe numbers.sorted
      sub.event().records shouldBe empty
      liveOf(arn) should have size 1
      server.faults.list.map(_.struck) shouldBe Vector(4)
    }
  }

  describe("A subscription cancelled by its client") {
    it("blocks new subscriptions for the time of PlaceHeld") {
      val (_, arn) = prepared()
      plan(FaultEffect.PlaceHeld(30.seconds))
      val sub = subscribe(arn).opened()
      later()
      sub.cancel()
      eventually(liveOf(arn) shouldBe empty)
      clock.advance(Duration.ofSeconds(29))
      subscribe(arn).failure() shouldBe a[ResourceInUseException]
      clock.advance(Duration.ofSeconds(1))
      subscribe(arn).texts(1) shouldBe Vector("1")
    }
  }

  describe("A rule about events") {
    it("applies to one shard, and by its seed to a share of events") {
      val stream = newStream(2)
      val arn    = consumer(stream)
      val rule   = FaultRule(
        FaultEffect.ErrorEvent("InternalFailureException"),
        shard = Some(shardId(1)),
        probability = 0.3,
        seed = 7
      )
      server.faults.add(rule)
      val spared = (1L to 100L).takeWhile(FaultRule.draw(7, _) >= 0.3).size
      val subs   = Seq(0, 1).map(shard => subscribe(arn, latest, shard).opened())
      (0 to spared).foreach { n =>
        subs.zipWithIndex.foreach { case (sub, shard) =>
          server.streams.putInto(stream, shardId(shard), "k", s"$n".getBytes)
          if (shard == 0 || n < spared) sub.texts(1) shouldBe Vector(s"$n")
          else sub.failure() shouldBe an[InternalFailureException]
        }
      }
      liveOf(arn).map(_.shardId) shouldBe Vector(shardId(0))
    }

    it("applies to subscriptions opened before it") {
      val (stream, arn) = prepared()
      val sub           = subscribe(arn)
      sub.texts(1) shouldBe Vector("1")
      plan(FaultEffect.AbruptEnd)
      server.streams.put(stream, "k", "2")
      sub.completes()
    }
  }
}
