package io.github.kinesisspark.read.stream

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.ConsumerCalls
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.{CutPoint, ExecutorId, ReaderStatus}
import io.github.kinesisspark.read.reader.{ReadCount, ReaderTotals, ReadersNow, ShardCounts, SubscriptionReport}
import io.github.kinesisspark.position.ShardPosition.TrimHorizon

class SourceMetricsSpec extends AnyFunSpec with Matchers {
  private val shards = Seq(shard(0), shard(1))

  private def status(n: Int, millisBehind: Long, ago: FiniteDuration) = shard(n) ->
    emptyStatus(shard(n)).copy(millisBehind = Some(millisBehind), millisSinceAnswer = Some(ago.toMillis))

  private def next(before: SourceMetrics, at: FiniteDuration, statuses: (ShardKey, ReaderStatus)*) =
    before.next(shards, statuses.toMap, Map.empty, ReadersNow.none, None, at.toNanos)

  private def shown(metrics: SourceMetrics) =
    Seq("shardsOpen", "minMillisBehindLatest", "maxMillisBehindLatest").map(metrics.toJava.get(_).toLong)

  private def numbers(metrics: SourceMetrics) = metrics.toJava.keySet.asScala.toSet - SourceDetails.Name

  private def details(metrics: SourceMetrics) = ujson.read(metrics.toJava.get(SourceDetails.Name))

  describe("metrics of the source") {
    it("show what readers report of their shards") {
      shown(next(SourceMetrics.none, at = 0.seconds, status(0, 100, 1.second), status(1, 200, 5.seconds))) shouldBe
        Seq(2, 100, 200)
    }

    it("count a shard without report, whose lag grows with time") {
      val before = next(SourceMetrics.none, at = 0.seconds, status(0, 100, 0.seconds), status(1, 200, 0.seconds))
      val silent = next(before, at = 20.seconds, status(0, 100, 0.seconds))
      shown(silent) shouldBe Seq(2, 100, 20200)
      shown(next(silent, at = 30.seconds, status(0, 100, 0.seconds))) shouldBe Seq(2, 100, 30200)
    }

    it("keep the lag of a shard whose reader has begun anew and has no answer yet") {
      val before = next(SourceMetrics.none, at = 0.seconds, status(0, 100, 0.seconds), status(1, 20000, 0.seconds))
      val anew   = shard(1) -> emptyStatus(shard(1)).copy(millisBehind = None, millisSinceAnswer = None)
      shown(next(before, at = 1.second, status(0, 100, 0.seconds), anew)) shouldBe Seq(2, 100, 20000)
    }

    it("count what a reader holds and no batch has taken") {
      val held = status(0, 100, 1.second)
      val full = held._1 -> held._2.copy(oldestArrival = Some(1000), newestArrival = Some(61000))
      shown(next(SourceMetrics.none, at = 0.seconds, full, status(1, 0, 1.second))) shouldBe Seq(2, 0, 60100)
    }

    it("show the lag of a reader that the service doesn't answer as growing with time") {
      shown(next(SourceMetrics.none, at = 1.minute, status(0, 0, 1.second), status(1, 0, 40.seconds))) shouldBe
        Seq(2, 0, 40000)
    }

    it("grow with time between two plannings, once it is longer than shards go without an answer") {
      val planned = next(SourceMetrics.none, at = 0.seconds, status(0, 100, 0.seconds), status(1, 0, 0.seconds))
      shown(planned.at(5.seconds.toNanos)) shouldBe Seq(2, 0, 100)
      shown(planned.at(15.seconds.toNanos)) shouldBe Seq(2, 15000, 15100)
    }

    it("grow only once the next planning is due, where a trigger says when that is") {
      val planned = next(SourceMetrics.none, at = 0.seconds, status(0, 100, 0.seconds), status(1, 0, 0.seconds))
        .copy(trigger = 10.minutes)
      shown(planned.at(605.seconds.toNanos)) shouldBe Seq(2, 0, 100)
      shown(planned.at(660.seconds.toNanos)) shouldBe Seq(2, 60000, 60100)
    }

    it("show the lag of a reader that the service doesn't answer at once, however long the trigger is") {
      val planned = next(SourceMetrics.none, at = 1.minute, status(0, 0, 40.seconds), status(1, 0, 1.second))
      shown(planned.copy(trigger = 10.minutes).at(61.seconds.toNanos)) shouldBe Seq(2, 0, 40000)
    }

    it("show the time since the source began as lag until every shard that is to be read has reported") {
      val begun = SourceMetrics.begun(0)
      shown(begun.at(5.seconds.toNanos)) shouldBe Seq(0, 0, 0)
      shown(begun.at(5.minutes.toNanos)) shouldBe Seq(0, 0, 300000)
      val planned = next(begun, at = 1.second, status(0, 100, 0.seconds))
      shown(planned.at(5.minutes.toNanos)).last shouldBe 300000
      shown(next(planned, at = 5.minutes, status(0, 100, 0.seconds), status(1, 0, 0.seconds))) shouldBe Seq(2, 0, 100)
    }

    it("show the time of each shard without report alone, where others come without one again and again") {
      val planned = (1 to 20).foldLeft(SourceMetrics.none) { (before, n) =>
        val statuses = (0 until n).map(status(_, 100, 0.seconds)).toMap
        before.next((0 to n).map(shard), statuses, Map.empty, ReadersNow.none, None, (n * 5).seconds.toNanos)
      }
      shown(planned) shouldBe Seq(21, 100, 100)
    }

    it("show no lag of shards that have no readers and no unread records") {
      val begun = next(SourceMetrics.begun(0), at = 0.seconds, status(0, 20000, 0.seconds))
      shown(begun.withoutReaders(shards, None, 1.minute.toNanos)) shouldBe Seq(2, 0, 0)
    }

    it("are gauges of the same names, without the lag's second name, with the values at the time of the look") {
      var now    = SourceMetrics.none
      val gauges = SourceMetrics.gauges(isFanOut = false, () => now)
      gauges.keySet shouldBe numbers(now) - "millisBehindLatest"
      gauges("maxMillisBehindLatest")() shouldBe 0
      now = next(now, at = 0.seconds, status(0, 100, 0.seconds))
      gauges("maxMillisBehindLatest")() shouldBe 100
    }

    it("are gauges of all names of fan-out from the beginning, 0 until they are known") {
      val known = SourceMetrics.none.copy(
        readers = ReadersNow.none.copy(byExecutor =
          Vector(
            ExecutorId("host", "1") -> ReaderTotals.none
              .copy(subscriptions = Some(SubscriptionReport(0, 0, 0, 0, 0, 0)))
          )
        ),
        consumers = Some(ConsumerCalls.none)
      )
      val gauges = SourceMetrics.gauges(isFanOut = true, () => SourceMetrics.none)
      gauges.keySet shouldBe numbers(known) - "millisBehindLatest"
      gauges("subscriptionsLive")() shouldBe 0
    }

    it("sum up what the SDK has decoded in all executors") {
      def executor(n: Int, reads: Long) = ExecutorId("host", n.toString) -> ReaderTotals.none.copy(sdkReads = reads)
      val readers                       = ReadersNow.none.copy(byExecutor = Vector(executor(1, 2), executor(2, 5)))
      SourceMetrics.none.copy(readers = readers).toJava.get("readsDecodedBySdk") shouldBe "7"
    }

    it("name streams, executors and shards with lag, records and counts, the furthest shard first") {
      val (one, two) = (ExecutorId("host-1", "1"), ExecutorId("host-2", "2"))
      val readers    = ReadersNow(
        Vector(
          one -> ReaderTotals.none.copy(bufferedBytes = 5, subscriptions = Some(SubscriptionReport(1, 0, 0, 3, 0, 0))),
          two -> ReaderTotals.none
        ),
        ReaderTotals.none,
        Map(shard(0) -> one, shard(1) -> two),
        Vector(
          Map(shard(0) -> ShardCounts(3, 0, isSubscribed = Some(true)), shard(1) -> ShardCounts(0, 7)),
          Map(shard(1) -> ShardCounts(2, 1, isSubscribed = Some(false)))
        )
      )
      val statuses = Map(status(0, 100, 1.second), status(1, 20000, 1.second))
      val cuts     = Map(shard(0) -> CutPoint(TrimHorizon, 4, 40, None, None))
      val shown    = details(SourceMetrics.none.next(shards, statuses, cuts, readers, None, nowNanos = 0))
      val stream   = shard(0).stream.text
      shown("streams") shouldBe ujson.read(
        s"""[{"stream":"$stream","shards":2,"millisBehindLatest":20000,"records":4,"bytes":40,"throttled":5,"reread":8,"subscribed":1}]"""
      )
      shown("executors") shouldBe ujson.read(
        """[{"executor":"1","host":"host-1","shards":1,"buffer":5,"throttled":3,"reread":0,"subscribed":1},
          | {"executor":"2","host":"host-2","shards":1,"buffer":0,"throttled":0,"reread":0}]""".stripMargin
      )
      shown("shards") shouldBe ujson.read(
        s"""{"stream":[0,0],"shard":["${shard(1).shardId}","${shard(0).shardId}"],"executor":["2","1"],
           |  "millisBehindLatest":[20000,100],"bytesPerRead":[0,0],"numberOfAggregatedRecords":[0,0],"records":[0,4],
           |  "bytes":[0,40],"throttled":[2,3],"reread":[8,0],"subscribed":[false,true]}""".stripMargin
      )
    }

    it("take so little of progress that with 16 shards Python gets it at once: 8 KiB with their offsets") {
      val many     = Vector.tabulate(16)(shard)
      val statuses = many.indices.map(status(_, 100000, 1.second)).toMap
      val cuts     = many.map(_ -> CutPoint(TrimHorizon, 100000, 100000000, None, None)).toMap
      val metrics  = SourceMetrics.none.next(many, statuses, cuts, ReadersNow.none, None, nowNanos = 0)
      // As escaped in the JSON of progress, which names a shard in 90 bytes of each of three offsets.
      ujson.write(metrics.toJava.get(SourceDetails.Name)).length + 16 * 3 * 90 should be < 7000
    }

    it("show the lag, bytes and Kinesis records per read of each shard since the planning before") {
      def readers(executors: Map[ShardKey, ReadCount]*) = ReadersNow.none.copy(counted = executors.toVector.map(_.map {
        case (shard, reads) => shard -> ShardCounts.none.copy(reads = reads)
      }))
      def planned(before: SourceMetrics, now: ReadersNow) =
        before.next(shards, Map(status(0, 300, 1.second), status(1, 0, 1.second)), Map.empty, now, None, nowNanos = 0)
      def perRead(metrics: SourceMetrics) = Seq("millisBehindLatest", "bytesPerRead", "numberOfAggregatedRecords")
        .map(details(metrics)("shards")(_).arr.toSeq.map(_.num.toLong))
        .transpose
      val first =
        planned(SourceMetrics.none, readers(Map(shard(0) -> ReadCount(2, 10, 5000), shard(1) -> ReadCount(4, 4, 400))))
      perRead(first) shouldBe Seq(Seq(300, 2500, 5), Seq(0, 100, 1))
      // Shard 0 has moved to a second executor, shard 1 was not read.
      val second = planned(
        first,
        readers(
          Map(shard(0) -> ReadCount(2, 10, 5000), shard(1) -> ReadCount(4, 4, 400)),
          Map(shard(0) -> ReadCount(1, 70, 700))
        )
      )
      perRead(second) shouldBe Seq(Seq(300, 700, 70), Seq(0, 0, 0))
    }

    it("name the fifty shards that are furthest behind of thousands, but all streams and executors") {
      val many     = Vector.tabulate(2000)(shard)
      val statuses = many.indices.map(n => status(n, n.toLong, 1.second)).toMap
      val shown    = details(SourceMetrics.none.next(many, statuses, Map.empty, ReadersNow.none, None, nowNanos = 0))
      shown("shards")("millisBehindLatest").arr.map(_.num) shouldBe (1950 to 1999).reverse
      shown("streams")(0)("shards").num shouldBe 2000
    }

    it("name a shard without report before the fifty, and show the time since it was to be read as its stream's lag") {
      val many     = Vector.tabulate(2000)(shard)
      val statuses = many.indices.tail.map(n => status(n, n.toLong, 1.second)).toMap
      def next(before: SourceMetrics, at: FiniteDuration) =
        before.next(many, statuses, Map.empty, ReadersNow.none, None, at.toNanos)
      val first = next(SourceMetrics.none, at = 0.seconds)
      val shown = details(next(first, at = 1.minute))
      shown("shards")("shard").arr.map(_.str) shouldBe (0 +: (1951 to 1999).reverse).map(shard(_).shardId)
      shown("shards")("millisBehindLatest")(0) shouldBe ujson.Null
      Seq(details(first), shown).map(_("streams")(0)("millisBehindLatest").num) shouldBe Seq(1999, 60000)
    }

    it("count a shard of which nothing is known yet, and show no lag of it") {
      shown(next(SourceMetrics.none, at = 0.seconds, status(0, 100, 0.seconds))) shouldBe Seq(2, 100, 100)
    }
  }
}
