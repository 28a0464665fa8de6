package io.github.kinesisspark.it.faults

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import scala.concurrent.duration._

import org.scalatest.Suites
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{BatchLog, Mode}
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule, Occurrence}

/** A provider of credentials that is slow, or fails once. Subscriptions end only when a test moves the service's clock: one that ends without an event
  * counts as failed.
  */
final class SlowCredentials(override protected val mode: Mode)
    extends ScriptedCredentialsSuite("Slow credentials", SlowCredentials.Life) {
  import SlowCredentials._

  private def isFanOut = mode == Mode.FanOut

  /** Whether each shard has a subscription that has brought an event. */
  private def isSubscribed(stream: TestStream, shards: Int): Boolean = {
    val live = kinesis.subscriptions.live.filter(_.stream == stream.name)
    live.size == shards && live.forall(_.events > 0)
  }

  /** Ends all subscriptions once that is so. The next ones ask for credentials. Pollers ask for them all the time. */
  private def endLives(isReady: => Boolean): Unit = if (isFanOut) {
    eventually(isReady shouldBe true)
    serverClock.advance(java.time.Duration.ofMillis(Life.toMillis))
  }

  /** A provider that gives credentials until the test has it stop, and then keeps whoever asks waiting. */
  private final class Provider {
    private val (asked, over) = (new CountDownLatch(1), new CountDownLatch(1))
    private val isSlow        = new AtomicBoolean
    private val lastGiven     = new AtomicLong(System.nanoTime())

    def provide(): Unit =
      if (isSlow.get) {
        asked.countDown()
        over.await()
      } else lastGiven.set(System.nanoTime())

    /** For how long calls are still made by the last credentials. */
    def usable: FiniteDuration = (lastGiven.get - System.nanoTime()).nanos + UsableFor

    /** Runs `body` while the provider gives no credentials: it has just given some, and was asked again.
      *
      * @param endLives ends the subscriptions, so that it is asked
      */
    def silentDuring[A](endLives: () => Unit)(body: => A): A = ScriptedCredentials.during(provide()) {
      val begun = System.nanoTime()
      eventually {
        endLives()
        (lastGiven.get - begun) should be > 0L
      }
      isSlow.set(true)
      try {
        eventually {
          endLives()
          asked.getCount shouldBe 0L
        }
        body
      } finally over.countDown()
    }
  }

  it("other shards are read while a provider gives no credentials") {
    val (slow, quick)       = (newStream(shards = 4), newStream(shards = 1))
    val (slowLog, quickLog) = (new BatchLog, new BatchLog)
    var slowly              = put(slow, "before", 40)
    var quickly             = put(quick, "before", 10)
    def endBoth(): Unit     = endLives(isSubscribed(quick, 1))
    running(loadWithProvider(slow), checkpoint())(slowLog.add) { _ =>
      running(load(quick), checkpoint())(quickLog.add) { quickQuery =>
        eventually(slowLog.rows.size shouldBe 40)
        eventually(quickLog.rows.size shouldBe 10)
        (new Provider).silentDuring(() => endBoth()) {
          for (round <- 1 to 3) {
            slowly ++= put(slow, s"round-$round", 20)
            quickly ++= put(quick, s"round-$round", 5)
            withClue("the shard of the other query stands still: ")(
              eventually(timeout(Span(60, Seconds)))(quickLog.texts.size shouldBe quickly.size)
            )
            endBoth()
          }
        }
        eventually(slowLog.texts.sorted shouldBe slowly.sorted)
        quickLog.texts.sorted shouldBe quickly.sorted
        if (isFanOut)
          withClue("a watchdog of the other query fired: ")(metric(quickQuery, "subscriptionsFailed") shouldBe 0)
      }
    }
  }

  it("a query reads on by the credentials it has while its provider gives none") {
    val stream           = newStream(shards = 2)
    val log              = new BatchLog
    val before           = put(stream, "before", 40)
    val provider         = new Provider
    def endLives(): Unit = this.endLives(isSubscribed(stream, 2))
    running(loadWithProvider(stream), checkpoint())(log.add) { query =>
      eventually(log.rows.size shouldBe 40)
      val meanwhile = provider.silentDuring(() => endLives()) {
        endLives()
        val texts = put(stream, "meanwhile", 20)
        eventually(log.texts.sorted shouldBe (before ++ texts).sorted)
        withClue("the credentials could not be used any more when the records had come: ")(
          provider.usable.toNanos should be > 0L
        )
        texts
      }
      log.texts.sorted shouldBe (before ++ meanwhile).sorted
      if (isFanOut) withClue("a watchdog fired: ")(metric(query, "subscriptionsFailed") shouldBe 0)
    }
  }

  it("a query continues after its credentials provider throws once") {
    val stream = newStream(shards = 2)
    val log    = new BatchLog
    val first  = put(stream, "first", 40)
    val left   = new AtomicBoolean(true)
    running(loadWithProvider(stream), checkpoint())(log.add) { query =>
      eventually(log.rows.size shouldBe 40)
      ScriptedCredentials.during(if (left.getAndSet(false)) throw new IllegalStateException("as planned")) {
        def endBoth(): Unit = endLives(isSubscribed(stream, 2) || query.exception.nonEmpty)
        eventually {
          endBoth()
          left.get shouldBe false
        }
        endBoth()
        val second = put(stream, "second", 40)
        eventually(assert(query.exception.nonEmpty || log.rows.size == 80))
        query.exception shouldBe None
        log.texts.sorted shouldBe (first ++ second).sorted
      }
    }
  }

  it("a query continues when the service says a few times that the credentials have expired") {
    val stream = newStream(shards = 2)
    val log    = new BatchLog
    val first  = put(stream, "first", 40)
    running(load(stream), checkpoint())(log.add) { query =>
      eventually(log.rows.size shouldBe 40)
      val expired = FaultEffect.ServiceCode("ExpiredTokenException")
      underFault(FaultRule(expired, Some(mode.readCall), Some(stream.name), occurrence = Occurrence.First(3))) {
        endLives(isSubscribed(stream, 2))
        eventually(kinesis.faults.hits shouldBe 3L)
        val second = put(stream, "second", 40)
        eventually {
          query.exception shouldBe None
          log.texts.sorted shouldBe (first ++ second).sorted
        }
      }
    }
  }
}

object SlowCredentials {
  private val Life = 5.minutes

  /** How long the connector uses credentials, less the time that a thread may take to ask for them. */
  private val UsableFor = 55.seconds
}

class SlowCredentialsSpec extends Suites(Mode.both.map(new SlowCredentials(_)): _*)
