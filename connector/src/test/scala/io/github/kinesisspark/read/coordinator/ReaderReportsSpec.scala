package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.{ExecutorId, ReaderStatus}
import io.github.kinesisspark.read.reader.{
  OrderAnswer,
  ReadOrder,
  ReaderReport,
  ReaderTotals,
  ResolvedPublisher,
  ShardCounts
}

class ReaderReportsSpec extends AnyFunSpec with Matchers {
  private def status(n: Int, records: Long) =
    emptyStatus(shard(n)).copy(records = records, millisBehind = Some(0), millisSinceAnswer = Some(10))

  private def report(
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

  private def records(reports: ReaderReports) =
    reports.now("1").statuses.map { case (shard, reported) => shard -> reported.status.records }

  private def waited(reports: ReaderReports, seen: Long, atMost: FiniteDuration): FiniteDuration = {
    val began = System.nanoTime()
    reports.await(seen, atMost)
    (System.nanoTime() - began).nanos
  }

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

  describe("an order") {
    it("may not have been carried out without an answer, or the answer's report doesn't follow the one before") {
      val reports                             = new ReaderReports
      def answer(report: ReaderReport)        = Some(OrderAnswer(isNext = true, Some(report)))
      def undone(answer: Option[OrderAnswer]) = {
        reports.answered("1", order = 3, answer)
        reports.takeUndone().get("1")
      }
      undone(answer(report(1, isOfAllReaders = true)(status(0, 1)))) shouldBe empty
      undone(answer(report(2, isOfAllReaders = false)(status(0, 2)))) shouldBe empty
      records(reports) shouldBe Map(shard(0) -> 2)
      undone(Some(OrderAnswer(isNext = true, report = None))) shouldBe empty
      undone(answer(report(4, isOfAllReaders = false)(status(0, 4)))) shouldBe Some(3)
      undone(Some(OrderAnswer(isNext = false, report = None))) shouldBe Some(3)
      undone(None) shouldBe Some(3)
    }
  }

  describe("the answer to a heartbeat") {
    val first = ExecutorId("host", "1")

    // The third order is its last.
    val left = {
      val tasks  = Vector(ReadOrder.Task(shard(0), ShardPosition.TrimHorizon, stop = None, isClosed = false))
      val orders = ReaderOrders.none.copy(number = 2).next(tasks, ResolvedPublisher.Polling).get._1
      OrdersMeanwhile(Map(first -> orders), Set(first), lastNumber = 3, ResolvedPublisher.Polling, resting = Set.empty)
    }

    def reading = {
      val reports = new ReaderReports
      reports.accept(report(1, isOfAllReaders = true, applied = 3)(status(0, 1)))
      reports.assign(Map("1" -> 2))
      reports
    }

    it("without the readers, or with others, has them ordered anew, and nothing counts that they have reported") {
      for (applied <- Seq(None, Some(0L))) {
        val reports  = reading
        val expected = reports.expected("1").get
        val seen     = reports.news
        reports.found("1", expected, applied)
        reports.takeUndone() shouldBe Map("1" -> 3)
        reports.now shouldBe empty
        reports.news should not be seen
        // The next one finds what was ordered since.
        reports.expected("1").get.done shouldBe empty
        reports.found("1", reports.expected("1").get, None)
        reports.takeUndone() shouldBe empty
      }
    }

    it("without the readers has the order sent that is prepared, where there is one, and counts it as the last") {
      val reports  = reading
      val expected = reports.expected("1").get
      var sent     = 0
      reports.leave(left)(_ => sent += 1)
      reports.found("1", expected, None)
      reports.found("1", expected, None)
      sent shouldBe 1
      reports.takeUndone() shouldBe empty
      reports.expected("1") shouldBe Some(ReaderReports.Expected(epoch = 4, done = None))
      reports.takeBack().map(_.orders.values.map(_.number)) shouldBe Some(Seq(4))
      reports.takeBack() shouldBe empty
    }

    it("that is lost has the orders sent by which others get its shards, and is named no more, before they are sent") {
      val reports = reading
      val other   = ExecutorId("host", "2")
      reports.leave(left) { sent =>
        sent.map(_._1) shouldBe Seq(first, other)
        reports.expected("1") shouldBe empty
        reports.expected("2") shouldBe Some(ReaderReports.Expected(epoch = 4, done = None))
      }
      reports.lost(Set(first), Set(first))
      reports.unattended shouldBe Set(first)
      reports.lost(Set(first), Set(other))
      reports.unattended shouldBe Set(other)
      reports.takeBack().map(_.moved) shouldBe Some(Map(shard(0) -> other))
      reports.unattended shouldBe empty
    }

    it("has an order sent again that was not carried out, while the query sends none") {
      val reports = reading
      var sent    = Vector.empty[OrdersMeanwhile.Sent]
      reports.leave(left)(sent ++= _)
      reports.answered("1", order = 4, answer = None)
      reports.lost(Set(first), Set(first))
      sent shouldBe empty
      reports.found("1", reports.expected("1").get, Some(2))
      reports.found("1", reports.expected("1").get, Some(2))
      sent.map { case (id, (now, change)) => (id, now.number, change.isOfAllShards) } shouldBe Seq((first, 4, true))
      reports.failed("1", order = 4, OrderFailure.Unanswered)
      reports.found("1", reports.expected("1").get, Some(3))
      sent.map(_._2._1.number) shouldBe Seq(4, 5)
      reports.failed("1", order = 5, OrderFailure.Unanswered)
      reports.found("1", reports.expected("1").get, Some(5))
      sent.size shouldBe 2
      reports.takeUndone() shouldBe empty
    }

    it("has an order sent again that was not carried out before the query left its orders to others") {
      val reports = reading
      var sent    = 0
      reports.answered("1", order = 3, answer = None)
      reports.assign(Map("1" -> 3))
      reports.leave(left)(_ => sent += 1)
      reports.found("1", ReaderReports.Expected(epoch = 3, done = None), Some(2))
      sent shouldBe 1
    }

    it("without the readers has them ordered anew where the query sends orders again") {
      val reports = reading
      reports.leave(left)(_ => fail("it was withdrawn"))
      reports.takeBack() shouldBe Some(left)
      reports.found("1", reports.expected("1").get, None)
      reports.takeUndone() shouldBe Map("1" -> 3)
    }

    it("changes nothing if the readers are there, or have been ordered anew since the heartbeat was sent") {
      val reports  = reading
      val expected = reports.expected("1").get
      reports.found("1", expected, Some(3))
      reports.found("1", expected, Some(4))
      reports.isDone("1", order = 4) shouldBe true
      reports.isDone("1", order = 5) shouldBe false
      reports.found("1", expected, None)
      reports.takeUndone() shouldBe empty
      records(reports) shouldBe Map(shard(0) -> 1)
    }

    it("says nothing of executors without shards") {
      val reports = reading
      reports.expected("2") shouldBe empty
      reports.assign(Map.empty)
      reports.expected("1") shouldBe empty
    }
  }

  describe("a wait for news") {
    it("ends at once when there were some after the last look") {
      val reports = new ReaderReports
      val seen    = reports.news
      reports.accept(report(1, isOfAllReaders = true)())
      waited(reports, seen, 1.minute) should be < 30.seconds
    }

    it("ends with news of the source, with a failure and with an order that may be lost") {
      val all    = new ReportsBySource
      val source = all.of("source")
      Seq[() => Unit](
        () => all.accept(report(1, isOfAllReaders = true)()): Unit,
        () => source.failed("2", order = 1, OrderFailure.Unanswered),
        () => source.answered("1", order = 3, answer = None)
      ).foreach { news =>
        val seen = source.news
        new Thread(() => news()).start()
        waited(source, seen, 1.minute) should be < 30.seconds
      }
      source.takeFailures() shouldBe Map("2" -> OrderFailure.Unanswered)
      source.takeFailures() shouldBe empty
      source.takeUndone() shouldBe Map("1" -> 3, "2" -> 1)
      source.takeUndone() shouldBe empty
      all.remove("source")
      all.accept(report(2, isOfAllReaders = true)()) shouldBe false
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
