package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.config.PollingOptions
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, TrimHorizon}
import io.github.kinesisspark.read.coordinator.StubChannel.status
import io.github.kinesisspark.read.coordinator.UsableExecutorsSpec._
import io.github.kinesisspark.read.plan.{ExecutorId, ReaderFailure}
import io.github.kinesisspark.read.reader._
import io.github.kinesisspark.runtime.VirtualTime

class UsableExecutorsSpec extends AnyFunSpec with Matchers {
  private val error = new OutOfMemoryError("as planned")

  describe("the usable executors") {
    it("leave out one that failed, for as long as it rests") {
      val scene = new Scene(two = true)
      import scene._
      directory.record(ReaderOrders.none.next(Vector(toRead), ResolvedPublisher.Polling).map(first -> _).toVector)
      failOrder(first, OrderFailure.Thrown(error))
      usable shouldBe Set(second)
      executors.mayBeOrdered(first) shouldBe false
      time.pass(1.minute)
      usable shouldBe Set(first, second)
      executors.mayBeOrdered(first) shouldBe true
      executors.failed shouldBe Set(first)
    }

    it("leave out one that didn't answer until it has carried out all its orders") {
      val scene = new Scene(two = true)
      import scene._
      directory.record(ReaderOrders.none.next(Vector(toRead), ResolvedPublisher.Polling).map(first -> _).toVector)
      failOrder(first, OrderFailure.Unanswered)
      usable shouldBe Set(second)
      channel.shared.answered(first.id, order = 1, Some(OrderAnswer(isNext = true, report = None)))
      usable shouldBe Set(first, second)
      executors.failed shouldBe empty
    }

    it(
      "count one as failed between batches until it has carried out the orders before the batch's own"
    ) {
      val scene = new Scene(two = true)
      import scene._
      def sent(order: Option[(ReaderOrders, ReaderOrders.Changes)]): Unit =
        directory.record(order.map(first -> _).toVector)
      sent(ReaderOrders.none.next(Vector(toRead), ResolvedPublisher.Polling))
      failOrder(first, OrderFailure.Thrown(error))
      usable shouldBe Set(second)
      time.pass(1.minute)
      channel.shared.answered(first.id, order = 1, Some(OrderAnswer(isNext = true, report = None)))
      usable shouldBe Set(first, second)
      sent(directory.orders(first).beginBatch(Vector(toRead.shard -> AfterSequenceNumber(number(3)))))
      executors.failed shouldBe empty
    }

    it("don't remember the failure of one that Spark no longer has") {
      val scene = new Scene(two = true)
      import scene._
      channel.present = ExecutorsNow.all(Set(second))
      failOrder(first, OrderFailure.Thrown(error))
      usable shouldBe Set(second)
      channel.present = ExecutorsNow.all(Set(first, second))
      usable shouldBe Set(first, second)
    }

    it("are none if all failed: the latest failure is thrown") {
      for (two <- Seq(false, true)) {
        val scene = new Scene(two)
        import scene._
        failOrder(first, OrderFailure.Thrown(new NoClassDefFoundError("as planned")))
        if (two) usable shouldBe Set(second)
        time.pass(1.second)
        failOrder(if (two) second else first, OrderFailure.Thrown(error))
        the[OutOfMemoryError] thrownBy usable should be theSameInstanceAs error
      }
    }
  }

  describe("an executor that Kinesis doesn't answer while it answers others") {
    it("is not usable for a minute once it is so for 2 s, and takes orders to release its shards") {
      val scene = new Scene(two = true)
      import scene._
      directory.adopt(Map(shard(0) -> first, shard(1) -> second))
      val silent   = status(shard(0), records = 0).copy(millisSinceAnswer = Some(30000))
      val answered = status(shard(1), records = 0)
      def look()   = executors.restCutOff(Seq(silent, answered).map(s => s.shard -> s).toMap)
      look()
      time.pass(2.seconds)
      look()
      usable shouldBe Set(first, second)
      time.pass(1.milli)
      look()
      usable shouldBe Set(second)
      executors.mayBeOrdered(first) shouldBe true
      time.pass(1.minute)
      usable shouldBe Set(first, second)
    }
  }

  describe("the usable executors of real-time batches") {
    it("are no more than the tasks that can run beside the reserved cores, and one at least") {
      val scene = new Scene(two = true)
      import scene._
      channel.cores = 4
      executors.reserve(2)
      (executors.realTimeTasks, usable) shouldBe ((2, Set(first, second)))
      executors.reserve(3)
      (executors.realTimeTasks, usable) shouldBe ((1, Set(first)))
      executors.reserve(4)
      (executors.realTimeTasks, usable) shouldBe ((0, Set(first)))
    }
  }

  describe("a reader that failed by an Error in its executor") {
    val broken = Some(ReaderFailure(FailureReason.BrokenJvm, "KINESIS_CALL_FAILED", "as planned"))

    it("is left out, and its executor is not usable") {
      val scene = new Scene(two = true)
      import scene._
      directory.adopt(Map(shard(0) -> first, shard(1) -> second))
      val statuses =
        Seq(status(shard(0), records = 0, broken), status(shard(1), records = 3)).map(s => s.shard -> s).toMap
      executors.excludeBroken(statuses).keySet shouldBe Set(shard(1))
      usable shouldBe Set(second)
    }

    it("stays in, with its executor, if it failed by something else") {
      val scene = new Scene(two = true)
      import scene._
      directory.adopt(Map(shard(0) -> first))
      val gone     = broken.map(_.copy(reason = FailureReason.NotFound))
      val statuses = Map(shard(0) -> status(shard(0), records = 0, gone))
      executors.excludeBroken(statuses) shouldBe statuses
      usable shouldBe Set(first, second)
    }

    it("throws if there is no other executor") {
      val scene = new Scene(two = false)
      import scene._
      directory.adopt(Map(shard(0) -> first))
      val statuses = Map(shard(0) -> status(shard(0), records = 0, broken))
      (the[KinesisException] thrownBy executors.excludeBroken(statuses)).errorClass shouldBe "KINESIS_CALL_FAILED"
    }
  }
}

private object UsableExecutorsSpec {
  private val first  = ExecutorId("host", "1")
  private val second = ExecutorId("host", "2")
  private val toRead = ReadOrder.ShardToRead(shard(0), TrimHorizon, stop = None, isClosed = false)

  /** @param two executors instead of one */
  private final class Scene(two: Boolean) {
    val time = new VirtualTime
    import time.runtime

    val channel = new StubChannel
    channel.present = ExecutorsNow.all(if (two) Set(first, second) else Set(first))

    private val config =
      ReaderConfig("source", Map.empty, bufferBytes = 1 << 20, PollingOptions.Default, failOnDataLoss = true)

    val directory = new ReaderDirectory(channel, config, () => ResolvedPublisher.Polling)
    val executors = new UsableExecutors(channel, config.sourceId, directory)

    /** An executor has not carried out its first order. */
    def failOrder(executor: ExecutorId, why: OrderFailure): Unit = channel.shared.failed(executor.id, order = 1, why)

    def usable = executors.now().usable
  }
}
