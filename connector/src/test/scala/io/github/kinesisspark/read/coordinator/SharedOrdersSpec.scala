package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.read.coordinator.ReaderReportsSpec._
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{OrderAnswer, ReadOrder, ReaderReport, ResolvedPublisher}

class SharedOrdersSpec extends AnyFunSpec with Matchers {
  describe("an order") {
    it("may not have been carried out without an answer, or the answer's report doesn't follow the one before") {
      val orders                              = new SharedOrders
      def answer(report: ReaderReport)        = Some(OrderAnswer(isNext = true, Some(report)))
      def undone(answer: Option[OrderAnswer]) = {
        orders.answered("1", order = 3, answer)
        orders.takeUndone().get("1")
      }
      undone(answer(report(1, isOfAllReaders = true)(status(0, 1)))) shouldBe empty
      undone(answer(report(2, isOfAllReaders = false)(status(0, 2)))) shouldBe empty
      records(orders.reports) shouldBe Map(shard(0) -> 2)
      undone(Some(OrderAnswer(isNext = true, report = None))) shouldBe empty
      undone(answer(report(4, isOfAllReaders = false)(status(0, 4)))) shouldBe Some(3)
      undone(Some(OrderAnswer(isNext = false, report = None))) shouldBe Some(3)
      undone(None) shouldBe Some(3)
    }
  }

  describe("the answer to a heartbeat") {
    val first = ExecutorId("host", "1")

    // The third order is its last.
    val handed = {
      val shards = Vector(ReadOrder.ShardToRead(shard(0), ShardPosition.TrimHorizon, stop = None, isClosed = false))
      val known  = ReaderOrders.none.copy(number = 2).next(shards, ResolvedPublisher.Polling).get._1
      OrdersMeanwhile(
        Map(first -> known),
        Set(first),
        lastNumber = 3,
        ResolvedPublisher.Polling,
        Set.empty,
        isFollowed = false
      )
    }

    def reading = {
      val orders = new SharedOrders
      orders.reports.accept(report(1, isOfAllReaders = true, applied = 3)(status(0, 1)))
      orders.assign(Map("1" -> 2))
      orders
    }

    it("without the readers, or with others, has them ordered anew, and nothing counts that they have reported") {
      for (applied <- Seq(None, Some(0L))) {
        val orders   = reading
        val expected = orders.expected("1").get
        val seen     = orders.reports.news
        orders.found("1", expected, applied)
        orders.takeUndone() shouldBe Map("1" -> 3)
        orders.reports.now shouldBe empty
        orders.reports.news should not be seen
        // The next one finds what was ordered since.
        orders.expected("1").get.done shouldBe empty
        orders.found("1", orders.expected("1").get, None)
        orders.takeUndone() shouldBe empty
      }
    }

    it("without the readers has the order sent that is prepared, where there is one, and counts it as the last") {
      val orders   = reading
      val expected = orders.expected("1").get
      var sent     = 0
      orders.handOver(handed)(_ => sent += 1)
      orders.found("1", expected, None)
      orders.found("1", expected, None)
      sent shouldBe 1
      orders.takeUndone() shouldBe empty
      orders.expected("1") shouldBe Some(SharedOrders.Expected(epoch = 4, done = None))
      orders.takeBack().map(_.orders.values.map(_.number)) shouldBe Some(Seq(4))
      orders.takeBack() shouldBe empty
    }

    it("that is lost has the orders sent by which others get its shards, and is named no more, before they are sent") {
      val orders = reading
      val other  = ExecutorId("host", "2")
      orders.handOver(handed) { sent =>
        sent.map(_._1) shouldBe Seq(first, other)
        orders.expected("1") shouldBe empty
        orders.expected("2") shouldBe Some(SharedOrders.Expected(epoch = 4, done = None))
      }
      orders.reassign(Set(first), Set(first))
      orders.unattended shouldBe Set(first)
      orders.reassign(Set(first), Set(other))
      orders.unattended shouldBe Set(other)
      orders.takeBack().map(_.moved) shouldBe Some(Map(shard(0) -> other))
      orders.unattended shouldBe empty
    }

    it("has an order sent again that was not carried out, while the query sends none") {
      val orders = reading
      var sent   = Vector.empty[OrdersMeanwhile.Sent]
      orders.handOver(handed)(sent ++= _)
      orders.answered("1", order = 4, answer = None)
      orders.reassign(Set(first), Set(first))
      sent shouldBe empty
      orders.found("1", orders.expected("1").get, Some(2))
      orders.found("1", orders.expected("1").get, Some(2))
      sent.map { case (id, (now, change)) => (id, now.number, change.isOfAllShards) } shouldBe Seq((first, 4, true))
      orders.failed("1", order = 4, OrderFailure.Unanswered)
      orders.found("1", orders.expected("1").get, Some(3))
      sent.map(_._2._1.number) shouldBe Seq(4, 5)
      orders.failed("1", order = 5, OrderFailure.Unanswered)
      orders.found("1", orders.expected("1").get, Some(5))
      sent.size shouldBe 2
      orders.takeUndone() shouldBe empty
    }

    it("has an order sent again that was not carried out before the query handed its orders over") {
      val orders = reading
      var sent   = 0
      orders.answered("1", order = 3, answer = None)
      orders.assign(Map("1" -> 3))
      orders.handOver(handed)(_ => sent += 1)
      orders.found("1", SharedOrders.Expected(epoch = 3, done = None), Some(2))
      sent shouldBe 1
    }

    it("without the readers has them ordered anew where the query sends orders again") {
      val orders = reading
      orders.handOver(handed)(_ => fail("it was withdrawn"))
      orders.takeBack() shouldBe Some(handed)
      orders.found("1", orders.expected("1").get, None)
      orders.takeUndone() shouldBe Map("1" -> 3)
    }

    it("changes nothing if the readers are there, or have been ordered anew since the heartbeat was sent") {
      val orders   = reading
      val expected = orders.expected("1").get
      orders.found("1", expected, Some(3))
      orders.found("1", expected, Some(4))
      orders.reports.lastDone("1") shouldBe Some(4)
      orders.found("1", expected, None)
      orders.takeUndone() shouldBe empty
      records(orders.reports) shouldBe Map(shard(0) -> 1)
    }

    it("says nothing of executors without shards") {
      val orders = reading
      orders.expected("2") shouldBe empty
      orders.assign(Map.empty)
      orders.expected("1") shouldBe empty
    }
  }
  describe("a wait for news") {
    it("ends with news of the source, with a failure and with an order that may be lost") {
      val all    = new OrdersBySource
      val source = all.of("source")
      Seq[() => Unit](
        () => all.accept(report(1, isOfAllReaders = true)()): Unit,
        () => source.failed("2", order = 1, OrderFailure.Unanswered),
        () => source.answered("1", order = 3, answer = None)
      ).foreach { news =>
        val seen = source.reports.news
        new Thread(() => news()).start()
        waited(source.reports, seen, 1.minute) should be < 30.seconds
      }
      source.takeFailures() shouldBe Map("2" -> OrderFailure.Unanswered)
      source.takeFailures() shouldBe empty
      source.takeUndone() shouldBe Map("1" -> 3, "2" -> 1)
      source.takeUndone() shouldBe empty
      all.remove("source")
      all.accept(report(2, isOfAllReaders = true)()) shouldBe false
    }
  }
}
