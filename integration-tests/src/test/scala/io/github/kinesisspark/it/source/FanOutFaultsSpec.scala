package io.github.kinesisspark.it.source

import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.testkit._
import io.github.kinesisspark.testkit.FaultEffect._
import io.github.kinesisspark.testkit.Occurrence._

/** What suites of subscriptions share.
  *
  * @param life of all subscriptions to the suite's server
  */
sealed abstract class SubscriptionsOfOneLife(life: FiniteDuration)
    extends TestkitSuite(
      KinesisServerConfig(subscriptions =
        SubscriptionSettings(life = life, heartbeat = 500.millis, takeoverAfter = 1.second)
      )
    ) {
  override protected def mode: Mode = Mode.FanOut

  protected def live(stream: TestStream): Vector[LiveSubscription] =
    kinesis.subscriptions.live.filter(_.stream == stream.name)

  protected def neverTwoAtOnce(stream: TestStream): Unit = kinesis.subscriptions.mostAtOnce.collect {
    case (consumerArn, most) if consumerArn.contains(s"/${stream.name}/") => most
  }.max shouldBe 1
}

/** Injects faults into subscriptions: the query delivers every record once, or fails with the cause. Subscriptions
  * live 3 s here, so that every test sees several of each shard.
  */
final class FanOutFaultsSpec extends SubscriptionsOfOneLife(3.seconds) {

  private val call = Some("SubscribeToShard")

  /** Puts records before and after the query starts, under a fault, and awaits each of them once. */
  private def everyRecordOnceUnder(effect: FaultEffect, occurrence: Occurrence, afterEvents: Long = 0): Unit = {
    val stream = newStream(shards = 2)
    val log    = new BatchLog
    val rule   = FaultRule(effect, call, Some(stream.name), occurrence = occurrence, afterEvents = afterEvents)
    underFault(rule) {
      val first = put(stream, "first", 200)
      running(load(stream), checkpoint())(log.add) { _ =>
        eventually(log.rows.size shouldBe 200)
        val second = put(stream, "second", 200)
        eventually(log.texts.sorted shouldBe (first ++ second).sorted)
        // Until the fault has had its chance, and then once more.
        eventually(kinesis.faults.hits should be > 0L)
        val third = put(stream, "third", 200)
        eventually(log.texts.sorted shouldBe (first ++ second ++ third).sorted)
      }
    }
    inOrder(log)
    effect match {
      // It is the client that leaves, and the server may learn of it when the next one is there.
      case CorruptFrame | ContinuationMissing | ResetConnection => ()
      case _                                                    => neverTwoAtOnce(stream)
    }
  }

  describe("every record is delivered once, in order, if") {
    it("subscriptions are refused because an earlier one still counts, at the start and later") {
      everyRecordOnceUnder(ServiceCode("ResourceInUseException"), First(4))
      everyRecordOnceUnder(ServiceCode("LimitExceededException"), Every(3))
    }

    it("the service fails inside a subscription") {
      for (code <- Seq("InternalFailureException", "KMSThrottlingException", "LimitExceededException"))
        everyRecordOnceUnder(ErrorEvent(code), Every(3))
    }

    it("the service fails before a subscription is opened") {
      everyRecordOnceUnder(ServiceCode("InternalFailure", status = 500), First(4))
      everyRecordOnceUnder(HttpStatus(503), Every(2))
    }

    // 30 calls of each shard, which take about half a minute at the default backoff.
    it("SubscribeToShard answers HTTP 500 for half a minute", Slow) {
      everyRecordOnceUnder(HttpStatus(500), First(60))
    }

    it("HTTP/2 streams or whole connections are reset") {
      everyRecordOnceUnder(ResetStream, Every(3))
      everyRecordOnceUnder(ResetConnection, Every(5))
      everyRecordOnceUnder(Reset(ResetPoint.BeforeCall), First(3))
    }

    it("a subscription completes early without an error") {
      everyRecordOnceUnder(AbruptEnd, Every(3))
      // Before its first event.
      everyRecordOnceUnder(AbruptEnd, First(6))
    }

    it("events are corrupted or late") {
      everyRecordOnceUnder(CorruptFrame, Every(4))
      everyRecordOnceUnder(DelayEvent(2.seconds), Every(4))
    }

    it("an event lacks its continuation sequence number") {
      everyRecordOnceUnder(ContinuationMissing, Every(4))
    }

    it("events are empty although there are more records") {
      everyRecordOnceUnder(EmptyEvent(60000), First(8))
      everyRecordOnceUnder(EmptyEvent(60000), Every(2))
    }

    it("a subscription becomes silent without an error", Slow) {
      val stream = newStream(shards = 2)
      val log    = new BatchLog
      underFault(FaultRule(Silence, stream = Some(stream.name), occurrence = First(1), afterEvents = 1)) {
        running(load(stream), checkpoint())(log.add) { query =>
          eventually(kinesis.faults.hits shouldBe 1L)
          val records = put(stream, "r", 100)
          // The other shard's come; this one's after the watchdog's 35 s.
          eventually(log.texts.sorted shouldBe records.sorted)
          eventually(metric(query, "subscriptionsFailed") should be >= 1L)
        }
      }
    }

    it("the consumer is deregistered by others while the query runs") {
      val stream = newStream(shards = 2)
      val log    = new BatchLog
      val first  = put(stream, "first", 100)
      running(load(stream), checkpoint())(log.add) { _ =>
        eventually(log.rows.size shouldBe 100)
        val before = consumerArns(stream)
        service.call(_.deregisterStreamConsumer(r => r.consumerARN(before.head)))
        eventually(consumerArns(stream) should (have size 1 and not be before))
        val second = put(stream, "second", 100)
        eventually(log.texts.sorted shouldBe (first ++ second).sorted)
      }
      inOrder(log)
    }

    it("batches take longer than a subscription lives, with a small buffer") {
      // The smallest buffer and a limit: 40,000 records must fill the one and take several batches.
      val small   = Seq("readerBufferSize" -> "16m", "maxRecordsPerTrigger" -> "10000")
      val stream  = newStream(shards = 2)
      val log     = new BatchLog
      val patient = new CountDownLatch(1)
      val padding = "x" * 200
      val all     = (1 to 80).flatMap(i => put(stream, s"$padding-$i", 500))
      running(load(stream, small: _*), checkpoint()) { (batch, id) =>
        log.add(batch, id)
        if (id <= 1) patient.await(4, TimeUnit.SECONDS): Unit
      }(_ => eventually(log.rows.size shouldBe all.size))
      log.texts.sorted shouldBe all.sorted
      inOrder(log)
      neverTwoAtOnce(stream)
    }
  }

  describe("the end of a shard in a subscription") {
    def acrossSplit(rules: TestStream => Seq[FaultRule]): Unit = {
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      underFault(rules(stream): _*) {
        val parent = stream.onlyShard().shardId
        val first  = put(stream, "first", 100)
        running(load(stream), checkpoint())(log.add) { _ =>
          eventually(log.rows.size shouldBe 100)
          val late = put(stream, "late", 50)
          kinesis.streams.split(stream.name, parent)
          val second = put(stream, "second", 100)
          eventually(log.texts.sorted shouldBe (first ++ late ++ second).sorted)
          // The children's subscriptions go through other lives; the parent's are over, but for a call that was on its way.
          def later(): Long = {
            val before = kinesis.subscriptions.opened
            eventually(kinesis.subscriptions.opened should be >= before + 2)
            kinesis.calls.count("SubscribeToShard", stream.name, parent)
          }
          val subscribed = later()
          later() shouldBe subscribed
        }
        val order = log.rows.map(_.shardId)
        order.lastIndexOf(parent) should be < order.indexWhere(_ != parent)
      }
    }

    it("is followed by its children, and the parent is not subscribed to again")(acrossSplit(_ => Nil))

    it("that is incomplete or missing is found by polling once the listing shows the shard closed") {
      acrossSplit(stream => Seq(FaultRule(EndWithheld, stream = Some(stream.name))))
      acrossSplit(stream => Seq(FaultRule(EndWithContinuation, stream = Some(stream.name))))
    }

    it("is recognized correctly if events before it are empty") {
      acrossSplit(stream => Seq(FaultRule(EmptyEvent(60000), stream = Some(stream.name), occurrence = Every(2))))
    }
  }

  describe("the position of idle shards") {
    it("advances, so that nothing is read twice from LATEST or a timestamp") {
      val stream = newStream(shards = 2)
      val log    = new BatchLog
      running(load(stream, "startingPosition" -> "LATEST"), checkpoint())(log.add) { query =>
        eventually(query.lastProgress should not be null)
        val batches = log.all.size
        eventually {
          val calls = kinesis.calls.recent.filter(c => c.action == "SubscribeToShard" && c.stream.contains(stream.name))
          val own   = calls.groupBy(_.shards).values
          own should have size 2
          for (starts <- own.map(_.flatMap(_.start))) {
            starts.size should be >= 3
            starts.head should startWith("AT_TIMESTAMP")
            starts.last should startWith("AFTER_SEQUENCE_NUMBER")
          }
        }
        // Idle shards move no offset: no batch is planned for them.
        log.all.size shouldBe batches
        val records = put(stream, "r", 50)
        eventually(log.texts.sorted shouldBe records.sorted)
      }
    }
  }

  describe("the query fails with a clear error if") {
    it("subscribing is denied, naming the action and the stream") {
      val stream = newStream(shards = 1)
      underFault(FaultRule(ServiceCode("AccessDeniedException", "not authorized"), call, Some(stream.name))) {
        val failure = failureOf(start(stream, checkpoint()))
        failure.getMessage should (include("KINESIS_ACCESS_DENIED") and include("SubscribeToShard") and include(
          stream.name
        ))
      }
    }

    it("the stream's KMS key is denied inside a subscription") {
      for (
        code <- Seq(
          "KMSAccessDeniedException",
          "KMSDisabledException",
          "KMSInvalidStateException",
          "KMSNotFoundException",
          "KMSOptInRequired"
        )
      ) {
        val stream = newStream(shards = 1)
        underFault(FaultRule(ErrorEvent(code, "of the key"), stream = Some(stream.name))) {
          failureOf(start(stream, checkpoint())).getMessage should (include("KINESIS_KMS_DENIED") and include(
            stream.name
          ))
        }
      }
    }

    it("a subscription fails more often in a row than subscribeToShard.maxRetries") {
      // Other values than the defaults, because the options themselves are tested.
      val stream = newStream(shards = 1)
      underFault(FaultRule(ServiceCode("InternalFailure", status = 500), call, Some(stream.name))) {
        val failure = failureOf(
          start(
            stream,
            checkpoint(),
            new BatchLog,
            "subscribeToShard.maxRetries"   -> "2",
            "subscribeToShard.backoff.base" -> "10ms"
          )
        )
        failure.getMessage should (include("KINESIS_UNAVAILABLE") and include("Tried 3 times"))
        kinesis.calls.count("SubscribeToShard", stream.name) shouldBe 3
      }
    }

    it("another reader already uses the consumer, and that reader keeps its shard") {
      val stream = newStream(shards = 1)
      val arn    = service
        .call(_.registerStreamConsumer(r => r.streamARN(stream.arn()).consumerName(Mode.Consumer)))
        .consumer
        .consumerARN
      val rival = new RivalSubscriber(service, arn, stream.onlyShard().shardId)
      try {
        eventually(rival.lives should be >= 1)
        put(stream, "r", 10)
        val failure = failureOf(start(stream, checkpoint()))
        failure.getMessage should (include("KINESIS_CONSUMER_IN_USE") and include(arn) and include("runs twice"))
        val seen = rival.records
        put(stream, "more", 10)
        eventually(rival.records should be >= seen + 10)
      } finally rival.close()
    }

    it("a query that subscribed first keeps running if another reader takes its consumer") {
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      running(load(stream), checkpoint())(log.add) { query =>
        val first = put(stream, "first", 10)
        eventually(log.rows.size shouldBe 10)
        // Held for longer than a newcomer ever holds it before the first takes it back.
        val before = kinesis.subscriptions.opened
        eventually(kinesis.subscriptions.opened should be >= before + 6)
        val rival = new RivalSubscriber(service, consumerArns(stream).head, stream.onlyShard().shardId)
        try {
          eventually(rival.lives should be >= 3)
          val second = put(stream, "second", 10)
          eventually(log.texts.sorted shouldBe (first ++ second).sorted)
          query.isActive shouldBe true
        } finally rival.close()
      }
    }
  }

  describe("a consumer that the query registers") {
    it("exists again after every restart, and is gone after a stop with deregisterOnStop") {
      val stream   = newStream(shards = 2)
      val at       = checkpoint()
      val log      = new BatchLog
      val expected = Seq.newBuilder[String]
      for (round <- 1 to 5) {
        val gone = (round % 2 == 0).toString
        expected ++= put(stream, s"round-$round", 20)
        running(load(stream, "efo.deregisterOnStop" -> gone), at)(log.add)(_ =>
          eventually(log.texts.sorted shouldBe expected.result().sorted)
        )
        eventually(live(stream) shouldBe empty)
        consumerArns(stream) should have size (if (gone.toBoolean) 0 else 1)
      }
      // None was ended from the server's side for want of its consumer.
      log.replays.size should be <= 5
    }
  }

  describe("deregistration") {
    it("starts after all subscriptions are cancelled") {
      val stream = newStream(shards = 8)
      val log    = new BatchLog
      // No time limit of the call ends the deregistration before its answer comes.
      val query = start(stream, checkpoint(), log, "readTimeout" -> "5m")
      put(stream, "r", 100)
      eventually(log.rows.size shouldBe 100)
      eventually(live(stream) should have size 8)
      underFault(FaultRule(Delay(1.minute), Some("DeregisterStreamConsumer"))) {
        val stopping = new Thread(() => query.stop())
        stopping.start()
        eventually(kinesis.faults.hits shouldBe 1L)
        // The call has come and is held back; the server hears of the last cancellations at about the same time.
        eventually(timeout(Span(50, Seconds)))(live(stream) shouldBe empty)
        stopping.join(300000)
        stopping.isAlive shouldBe false
      }
      eventually(consumerArns(stream) shouldBe empty)
    }
  }

  private def consumerArns(stream: TestStream): Seq[String] =
    service.call(_.listStreamConsumers(r => r.streamARN(stream.arn()))).consumers.asScala.map(_.consumerARN).toSeq
}

/** Subscriptions live 5 minutes here, and a test moves the service's clock to end them: none ends before it has brought an event. */
final class LongSubscriptionsSpec extends SubscriptionsOfOneLife(LongSubscriptionsSpec.Life) {
  import LongSubscriptionsSpec._

  describe("every record is delivered once, in order, if") {
    it("subscriptions end at the end of their life, several times") {
      val stream   = newStream(shards = 2)
      val log      = new BatchLog
      val expected = Seq.newBuilder[String]
      running(load(stream), checkpoint())(log.add) { query =>
        for (round <- 1 to 5) {
          expected ++= put(stream, s"round-$round", 50)
          eventually(log.texts.sorted shouldBe expected.result().sorted)
          // One that ends without an event counts as failed.
          eventually(live(stream).count(_.events > 0) shouldBe 2)
          serverClock.advance(java.time.Duration.ofMillis(Life.toMillis))
        }
        expected ++= put(stream, "last", 50)
        eventually(log.texts.sorted shouldBe expected.result().sorted)
        eventually(metric(query, "resubscriptions") should be >= 8L)
        metric(query, "subscriptionsFailed") shouldBe 0L
      }
      inOrder(log)
      neverTwoAtOnce(stream)
    }

    it("the server frees the place of a cancelled subscription only after an hour") {
      val stream = newStream(shards = 1)
      val at     = checkpoint()
      val log    = new BatchLog
      underFault(FaultRule(PlaceHeld(1.hour), stream = Some(stream.name))) {
        val first = put(stream, "first", 50)
        running(load(stream, "efo.deregisterOnStop" -> "false"), at)(log.add) { _ =>
          eventually(log.rows.size shouldBe 50)
          eventually(live(stream) should have size 1)
        }
        // The server has noticed that its client has left it.
        eventually(live(stream) shouldBe empty)
        val second = put(stream, "second", 50)
        running(load(stream, "efo.deregisterOnStop" -> "false"), at)(log.add) { query =>
          eventually(metric(query, "subscriptionsRefused") should be > 0L)
          serverClock.advance(java.time.Duration.ofHours(1))
          eventually(log.texts.sorted shouldBe (first ++ second).sorted)
        }
      }
    }
  }
}

object LongSubscriptionsSpec {
  private val Life = 5.minutes
}
