package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.config.PollingOptions
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, TrimHorizon}
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.coordinator.ReaderDirectorySpec._
import io.github.kinesisspark.read.coordinator.StubChannel.status
import io.github.kinesisspark.read.plan.{ExecutorId, Lineage, PlanningState}
import io.github.kinesisspark.read.reader._
import io.github.kinesisspark.runtime.VirtualTime

class ReaderDirectorySpec extends AnyFunSpec with Matchers {
  describe("the orders that a directory knows") {
    it("are forgotten with the reports of an executor that Spark no longer has") {
      val scene = new Scene
      import scene._
      settle(Set(first))
      order(first, Both)
      channel.report(first, applied = 1, number = 1)()
      settle(Set(second))
      directory.orders shouldBe empty
      channel.reports.now shouldBe empty
    }

    it("are kept of an executor that has lost its shards, until it has reported that it reads none") {
      val scene = new Scene
      import scene._
      settle(Set(first, second))
      order(first, Both)
      settle(Set(second), present = Set(first, second))
      order(first, Nil)
      channel.report(first, applied = 1, number = 1)()
      directory.acknowledge()
      settle(Set(second), present = Set(first, second))
      directory.orders.keySet shouldBe Set(first)
      directory.ofReading shouldBe empty
      channel.report(first, applied = 2, number = 2)()
      directory.acknowledge()
      settle(Set(second), present = Set(first, second))
      directory.orders shouldBe empty
    }

    it("are undone by the next planning where one may not have been carried out") {
      val scene = new Scene
      import scene._
      settle(Set(first))
      order(first, Both)
      channel.shared.answered(first.id, order = 1, answer = None)
      directory.orders(first).isUndone shouldBe false
      settle(Set(first))
      directory.orders(first).isUndone shouldBe true
    }

    it("are those that another thread has sent meanwhile, with the shards where it has moved them") {
      val scene = new Scene
      import scene._
      settle(Set(first))
      order(first, Both)
      val orders =
        OrdersMeanwhile(
          directory.orders,
          Set(first),
          lastNumber = 1,
          by = Polling,
          resting = Set.empty,
          isFollowed = false
        )
      val (moved, _) = orders.reassigned(from = Set(first), to = Set(second)).get
      directory.takeOver(moved)
      directory.orders shouldBe moved.orders
      directory.now.homes shouldBe Both.map(_ -> second).toMap
    }

    it("release a shard that a real-time task has begun, where it is read elsewhere next") {
      val scene = new Scene
      import scene._
      settle(Set(first))
      order(first, Seq(shard(0)))
      directory.adopt(Map(shard(1) -> first))
      directory.assignments.of(shard(1)) shouldBe Some(first)
      val (_, changes) = directory.orders(first).next(Vector(toRead(shard(0))), Polling).get
      changes.release shouldBe Vector(shard(1))
    }
  }

  describe("an executor that has not reported what it was ordered") {
    it("is sent all of it again if it has carried it out, and not before") {
      val scene = new Scene
      import scene._
      order(first, Both)
      directory.isDone(first) shouldBe false
      directory.repeatUnacknowledged()
      directory.orders(first).isUndone shouldBe false
      channel.shared.answered(first.id, order = 1, Some(OrderAnswer(isNext = true, report = None)))
      directory.isDone(first) shouldBe true
      directory.repeatUnacknowledged()
      directory.orders(first).isUndone shouldBe true
    }

    it("is sent nothing again once it has reported") {
      val scene = new Scene
      import scene._
      order(first, Both)
      channel.report(first, applied = 1, number = 1)()
      directory.repeatUnacknowledged()
      directory.orders(first).isUndone shouldBe false
    }
  }

  describe("the statuses of readers") {
    it("are as old as their reports") {
      val scene = new Scene
      import scene._
      settle(Set(first))
      order(first, Both)
      channel.report(first, applied = 1, number = 1)(status(shard(0), records = 3))
      time.pass(5.seconds)
      statuses.values.map(s => s.records -> s.millisSinceAnswer) shouldBe Seq(3 -> Some(5000))
    }

    it("don't count before the last order is carried out") {
      val scene = new Scene
      import scene._
      settle(Set(first))
      order(first, Seq(shard(0)))
      order(first, Both)
      channel.report(first, applied = 1, number = 1)(status(shard(0), records = 3))
      statuses shouldBe empty
      channel.report(first, applied = 2, number = 2)(status(shard(0), records = 3))
      statuses.keySet shouldBe Set(shard(0))
    }

    it("don't count where the reader stands elsewhere than the batch starts") {
      val scene = new Scene
      import scene._
      settle(Set(first))
      order(first, Both)
      val elsewhere = status(shard(1), records = 3).copy(base = AfterSequenceNumber(number(1)))
      channel.report(first, applied = 1, number = 1)(status(shard(0), records = 3), elsewhere)
      statuses.keySet shouldBe Set(shard(0))
    }

    it("don't count from an executor that the shard is not assigned to") {
      val scene = new Scene
      import scene._
      settle(Set(first))
      for (executor <- Seq(first, second)) order(executor, Both)
      channel.report(second, applied = 1, number = 1)(status(shard(0), records = 3))
      statuses shouldBe empty
    }

    it("don't count from readers of a consumer that is gone") {
      val scene = new Scene
      import scene._
      by = ResolvedPublisher.FanOut(Map(stream -> consumer(1)))
      settle(Set(first))
      order(first, Both)
      channel.report(first, applied = 1, number = 1)(status(shard(0), records = 3))
      statuses.keySet shouldBe Set(shard(0))
      by = ResolvedPublisher.FanOut(Map(stream -> consumer(1))).renewed(stream, consumer(2))
      statuses shouldBe empty
    }
  }

  describe("what a directory shows of all readers") {
    it("adds up what all executors have done, with those that are gone or read no more") {
      val scene = new Scene
      import scene._
      settle(Set(first))
      directory.hasRead shouldBe false
      val live   = SubscriptionReport(1, 1, resubscriptions = 1, refused = 1, failed = 1, longestSilenceMillis = 9)
      val totals = ReaderTotals.none.copy(
        bufferedBytes = 7,
        reads = ReadCount(reads = 2, records = 3, bytes = 4),
        subscriptions = Some(live)
      )
      channel.report(second, applied = 0, number = 1, totals)()
      directory.hasRead shouldBe true
      directory.now.totals shouldBe totals.ended
      channel.report(first, applied = 0, number = 1, totals)()
      directory.now.totals shouldBe totals.ended.and(totals)
      settle(Set(second), present = Set(first, second))
      directory.now.totals shouldBe totals.and(totals)
      directory.now.homes shouldBe Both.map(_ -> second).toMap
      settle(Set(first), present = Set(first))
      directory.now.totals shouldBe totals.and(totals.ended)
    }
  }
}

private object ReaderDirectorySpec {
  private val first   = ExecutorId("host", "1")
  private val second  = ExecutorId("host", "2")
  private val Polling = ResolvedPublisher.Polling
  private val Both    = Seq(shard(0), shard(1))

  private val planning = {
    val half   = BigInt(1) << 127
    val shards = Vector(
      Shard(shardId(0), Nil, HashKeyRange(0, half - 1), closed = false),
      Shard(shardId(1), Nil, HashKeyRange(half, half * 2 - 1), closed = false)
    )
    val initialPositions = shards.map(_.id -> TrimHorizon)
    PlanningState(KinesisOffset.initial, Map(stream -> PlanningState.Stream(1L, Lineage(shards), initialPositions)))
  }

  private def toRead(shard: ShardKey) = ReadOrder.ShardToRead(shard, TrimHorizon, stop = None, isClosed = false)

  private def consumer(n: Int) = ConsumerArn(s"${stream.text}/consumer/it:160000000$n")

  private final class Scene {
    val time = new VirtualTime
    import time.runtime

    val channel               = new StubChannel
    var by: ResolvedPublisher = Polling

    private val config =
      ReaderConfig("source", Map.empty, bufferBytes = 1 << 20, PollingOptions.Default, failOnDataLoss = true)

    val directory = new ReaderDirectory(channel, config, () => by)

    def settle(usable: Set[ExecutorId]): Unit = settle(usable, usable)

    def settle(usable: Set[ExecutorId], present: Set[ExecutorId]): Unit =
      directory.settle(planning, planning.open.keys, ExecutorsNow(usable, present, present))

    /** Orders an executor to read these. */
    def order(executor: ExecutorId, shards: Seq[ShardKey]): Unit = {
      val known = directory.orders.getOrElse(executor, ReaderOrders.none)
      directory.record(known.next(shards.map(toRead).toVector, by).map(executor -> _).toVector)
    }

    def statuses = directory.statuses(planning.open)
  }
}
