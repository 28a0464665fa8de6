package io.github.kinesisspark.it.faults

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import scala.concurrent.duration._

import org.scalatest.Suites
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.source.{BatchLog, Mode}
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule, Occurrence}

/** A provider of credentials that is slow, or fails once. */
final class SlowCredentials(override protected val mode: Mode) extends ScriptedCredentialsSuite("Slow credentials") {
  private def isFanOut = mode == Mode.FanOut

  it("other shards are read within 5 seconds while credentials take 20 seconds each time") {
    val (slow, quick)       = (newStream(shards = 4), newStream(shards = 1))
    val (slowLog, quickLog) = (new BatchLog, new BatchLog)
    var slowly              = put(slow, "before", 40)
    var quickly             = put(quick, "before", 10)
    val asked, over         = new CountDownLatch(1)
    running(loadWithProvider(slow), checkpoint())(slowLog.add) { slowQuery =>
      running(load(quick), checkpoint())(quickLog.add) { quickQuery =>
        eventually(slowLog.rows.size shouldBe 40)
        eventually(quickLog.rows.size shouldBe 10)
        def slowProvider(): Unit = {
          asked.countDown()
          over.await(20, TimeUnit.SECONDS): Unit
        }
        ScriptedCredentials.during(slowProvider()) {
          try {
            asked.await(10, TimeUnit.SECONDS) shouldBe true
            val end = 8.seconds.fromNow
            Iterator.from(1).takeWhile(_ => end.hasTimeLeft()).foreach { round =>
              slowly ++= put(slow, s"round-$round", 20)
              quickly ++= put(quick, s"round-$round", 5)
              withClue("the shard of the other query stands still: ")(
                eventually(timeout(Span(5, Seconds)))(quickLog.texts.size shouldBe quickly.size)
              )
              // By the credentials it has, for a minute.
              eventually(slowLog.texts.size shouldBe slowly.size)
            }
          } finally over.countDown()
        }
        slowLog.texts.sorted shouldBe slowly.sorted
        quickLog.texts.sorted shouldBe quickly.sorted
        if (isFanOut) {
          withClue("a watchdog of the other query fired: ")(metric(quickQuery, "subscriptionsFailed") shouldBe 0)
          withClue("a watchdog of the slow query fired: ")(metric(slowQuery, "subscriptionsFailed") shouldBe 0)
        }
      }
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
        eventually(left.get shouldBe false)
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
    val call   = if (isFanOut) "SubscribeToShard" else "GetRecords"
    running(load(stream), checkpoint())(log.add) { query =>
      eventually(log.rows.size shouldBe 40)
      val expired = FaultEffect.ServiceCode("ExpiredTokenException")
      underFault(FaultRule(expired, Some(call), Some(stream.name), occurrence = Occurrence.First(3))) {
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

class SlowCredentialsSpec extends Suites(Mode.both.map(new SlowCredentials(_)): _*)
