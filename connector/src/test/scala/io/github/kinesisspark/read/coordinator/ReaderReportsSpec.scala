package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.coordinator.ReaderReportsSpec._
import io.github.kinesisspark.read.plan.ReaderStatus
import io.github.kinesisspark.read.reader.{ReaderReport, ReaderTotals, ShardCounts}

class ReaderReportsSpec extends AnyFunSpec with Matchers {
  describe("reports of readers") {
    it("add up if each follows the one before") {
      val reports = new ReaderReports
      reports.accept(report(1, isOfAllReaders = true)(status(0, 1), status(1, 1))) shouldBe true
      reports.accept(report(2, isOfAllReaders = false, gone = Seq(1))(status(0, 5), status(2, 2))) shouldBe true
      records(reports) shouldBe Map(shard(0) -> 5, shard(2) -> 2)
    }

    it("keep the counts of shards that are still read, and of released ones that are counted on") {
      val reports = new ReaderReports
      def counts  = reports.now("1").counts.map { case (shard, counted) => shard -> counted.rereadRecords }
      val first   = Seq(shard(0) -> ShardCounts(1, 10), shard(1) -> ShardCounts(1, 10), shard(2) -> ShardCounts(1, 10))
      reports.accept(report(1, isOfAllReaders = true, counts = first)(status(0, 1))) shouldBe true
      val changed = Seq(shard(2) -> ShardCounts(1, 20))
      reports.accept(report(2, isOfAllReaders = false, gone = Seq(1, 2), counts = changed)()) shouldBe true
      counts shouldBe Map(shard(0) -> 10, shard(2) -> 20)
    }

    it("lose the counts of shards that nobody reads any more, until these are counted on") {
      val reports = new ReaderReports
      val counts  = Seq(shard(0) -> ShardCounts(1, 10), shard(1) -> ShardCounts(1, 10))
      reports.accept(report(1, isOfAllReaders = true, counts = counts)(status(0, 1))) shouldBe true
      reports.keepOnly(Set("1"), isRead = Set(shard(1)))
      reports.now("1").counts shouldBe Map(counts(1))
      reports.accept(report(2, isOfAllReaders = false, gone = Seq(0), counts = Seq(counts(0)))()) shouldBe true
      reports.now("1").counts shouldBe counts.toMap
    }

    it("are refused after a gap or a change of readers until one of all readers has come") {
      val reports = new ReaderReports
      reports.accept(report(1, isOfAllReaders = false)(status(0, 1))) shouldBe false
      reports.accept(report(1, isOfAllReaders = true)(status(0, 1))) shouldBe true
      reports.accept(report(3, isOfAllReaders = false)(status(0, 3))) shouldBe false
      reports.accept(report(2, isOfAllReaders = false, pool = 2)(status(0, 2))) shouldBe false
      records(reports) shouldBe Map(shard(0) -> 1)
      reports.accept(report(4, isOfAllReaders = true)(status(0, 4))) shouldBe true
      reports.accept(report(1, isOfAllReaders = true, pool = 2)(status(1, 4))) shouldBe true
      records(reports) shouldBe Map(shard(1) -> 4)
    }

    it("that come late change nothing") {
      val reports = new ReaderReports
      reports.accept(report(4, isOfAllReaders = true)(status(0, 4)))
      reports.accept(report(3, isOfAllReaders = true)(status(0, 3))) shouldBe true
      records(reports) shouldBe Map(shard(0) -> 4)
    }

    it("of readers that were there before change nothing, whatever comes late") {
      val reports = new ReaderReports
      reports.accept(report(1, isOfAllReaders = true, pool = 2, applied = 5)(status(0, 4)))
      reports.accept(report(9, isOfAllReaders = true, pool = 1, applied = 4)(status(0, 3))) shouldBe true
      records(reports) shouldBe Map(shard(0) -> 4)
    }

    it("leave what was done by readers that are gone") {
      val reports       = new ReaderReports
      def read(n: Long) = ReaderTotals.none.copy(bufferedBytes = 7, rereadRecords = n)
      reports.accept(report(1, isOfAllReaders = true)().copy(totals = read(1)))
      reports.accept(report(1, isOfAllReaders = true, pool = 2)().copy(totals = read(2)))
      reports.ofGone shouldBe read(1).ended
      reports.discard("1", reports.lastDone("1")) shouldBe true
      reports.ofGone shouldBe read(3).ended
      reports.accept(report(1, isOfAllReaders = true, pool = 3)().copy(totals = read(4)))
      reports.keepOnly(Set.empty, isRead = _ => true)
      reports.ofGone shouldBe read(7).ended
    }

    it("grow older") {
      val reports = new ReaderReports
      reports.accept(report(1, isOfAllReaders = true)(status(0, 4)))
      reports.now("1").statuses(shard(0)).now(5.seconds.toNanos, committed = 0).millisSinceAnswer shouldBe Some(5010)
    }

    it("of a wait for memory don't count if records were dropped since") {
      val reported = ReaderReports.ReportedStatus(status(0, 0).copy(starved = true), atNanos = 0, applied = 3)
      reported.now(nowNanos = 0, committed = 3).starved shouldBe true
      reported.now(nowNanos = 0, committed = 4).starved shouldBe false
    }
  }

  describe("a wait for news") {
    it("ends at once when there were some after the last look") {
      val reports = new ReaderReports
      val seen    = reports.news
      reports.accept(report(1, isOfAllReaders = true)())
      waited(reports, seen, 1.minute) should be < 30.seconds
    }

    it("ends after its time when nothing comes, or nothing that anybody waits for") {
      val reports = new ReaderReports
      reports.accept(report(1, isOfAllReaders = true, hasNews = false)())
      waited(reports, reports.news, 20.millis) should be >= 20.millis
      val seen = reports.news
      reports.accept(report(2, isOfAllReaders = false, hasNews = false)())
      reports.news shouldBe seen
    }
  }
}

private object ReaderReportsSpec {
  def status(n: Int, records: Long) =
    emptyStatus(shard(n)).copy(records = records, millisBehind = Some(0), millisSinceAnswer = Some(10))

  def report(
      number: Long,
      isOfAllReaders: Boolean,
      pool: Long = 1,
      hasNews: Boolean = true,
      applied: Long = 1,
      gone: Seq[Int] = Nil,
      counts: Seq[(ShardKey, ShardCounts)] = Nil
  )(
      statuses: ReaderStatus*
  ) = ReaderReport(
    "1",
    "source",
    pool,
    number,
    isOfAllReaders,
    applied,
    atNanos = 0,
    statuses.toVector,
    gone.map(shard).toVector,
    counts.toVector,
    hasNews,
    ReaderTotals.none
  )

  def records(reports: ReaderReports) =
    reports.now("1").statuses.map { case (shard, reported) => shard -> reported.status.records }

  def waited(reports: ReaderReports, seen: Long, atMost: FiniteDuration): FiniteDuration = {
    val began = System.nanoTime()
    reports.await(seen, atMost)
    (System.nanoTime() - began).nanos
  }
}
