package io.github.kinesisspark.read.stream

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.aws.ConsumerCalls
import io.github.kinesisspark.read.plan.ArrivalDensity
import io.github.kinesisspark.read.reader.{Boundaries, Grain, ReaderTotals, ShardTip, SubscriptionReport}

class SourceMetricsSpec extends AnyFunSpec with Matchers {
  private val shards = Seq(shard(0), shard(1))

  private def tip(n: Int, millisBehind: Long, ago: FiniteDuration) = shard(n) -> ShardTip(
    shard(n),
    base = TrimHorizon,
    position = TrimHorizon,
    boundaries = Boundaries.none(Grain.none),
    records = 0,
    bytes = 0,
    room = 0,
    isFull = false,
    oldestArrival = None,
    newestArrival = None,
    reached = None,
    density = ArrivalDensity.unknown,
    starved = false,
    isComplete = false,
    Some(millisBehind),
    Some(ago.toMillis),
    failure = None,
    children = Vector.empty
  )

  private def next(before: SourceMetrics, at: FiniteDuration, tips: (ShardKey, ShardTip)*) =
    before.next(shards, tips.toMap, Map.empty, ReaderTotals.none, None, at.toNanos)

  private def shown(metrics: SourceMetrics) =
    Seq("shardsOpen", "minMillisBehindLatest", "maxMillisBehindLatest").map(metrics.toJava.get(_).toLong)

  describe("metrics of the source") {
    it("show what readers report of their shards") {
      shown(next(SourceMetrics.none, at = 0.seconds, tip(0, 100, 1.second), tip(1, 200, 5.seconds))) shouldBe
        Seq(2, 100, 200)
    }

    it("count a shard without report, whose lag grows with time") {
      val before = next(SourceMetrics.none, at = 0.seconds, tip(0, 100, 0.seconds), tip(1, 200, 0.seconds))
      val silent = next(before, at = 20.seconds, tip(0, 100, 0.seconds))
      shown(silent) shouldBe Seq(2, 100, 20200)
      shown(next(silent, at = 30.seconds, tip(0, 100, 0.seconds))) shouldBe Seq(2, 100, 30200)
    }

    it("show the lag of a reader that the service doesn't answer as growing with time") {
      shown(next(SourceMetrics.none, at = 1.minute, tip(0, 0, 1.second), tip(1, 0, 40.seconds))) shouldBe
        Seq(2, 0, 40000)
    }

    it("grow with time between two plannings, once it is longer than shards go without an answer") {
      val planned = next(SourceMetrics.none, at = 0.seconds, tip(0, 100, 0.seconds), tip(1, 0, 0.seconds))
      shown(planned.at(5.seconds.toNanos)) shouldBe Seq(2, 0, 100)
      shown(planned.at(15.seconds.toNanos)) shouldBe Seq(2, 15000, 15100)
    }

    it("are gauges of the same names, as they are when they are looked at") {
      var now    = SourceMetrics.none
      val gauges = SourceMetrics.gauges(isFanOut = false, () => now)
      gauges.keySet shouldBe now.toJava.keySet.asScala
      gauges("maxMillisBehindLatest")() shouldBe 0
      now = next(now, at = 0.seconds, tip(0, 100, 0.seconds))
      gauges("maxMillisBehindLatest")() shouldBe 100
    }

    it("are gauges of all names of fan-out from the beginning, 0 until they are known") {
      val known = SourceMetrics.none.copy(
        fleet = ReaderTotals.none.copy(subscriptions = Some(SubscriptionReport(0, 0, 0, 0, 0, 0))),
        consumers = Some(ConsumerCalls.none)
      )
      val gauges = SourceMetrics.gauges(isFanOut = true, () => SourceMetrics.none)
      gauges.keySet shouldBe known.toJava.keySet.asScala
      gauges("subscriptionsLive")() shouldBe 0
    }

    it("count a shard of which nothing is known yet, and show no lag of it") {
      shown(next(SourceMetrics.none, at = 0.seconds, tip(0, 100, 0.seconds))) shouldBe Seq(2, 100, 100)
    }
  }
}
