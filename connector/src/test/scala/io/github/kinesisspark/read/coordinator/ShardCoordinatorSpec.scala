package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.apache.logging.log4j.Level
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.FailureReason
import io.github.kinesisspark.config.PollingOptions
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.plan.PlanningView.Goal
import io.github.kinesisspark.read.plan.{
  Admission,
  BoundarySpacing,
  ExecutorId,
  FillTarget,
  Lineage,
  PlanningState,
  ReaderFailure,
  ReaderStatus,
  WatermarkAlignment
}
import io.github.kinesisspark.read.reader._
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, TrimHorizon}
import io.github.kinesisspark.read.coordinator.ShardCoordinatorSpec._
import io.github.kinesisspark.read.coordinator.StubChannel.status
import io.github.kinesisspark.runtime.{Runtime, VirtualTime}

class ShardCoordinatorSpec extends AnyFunSpec with Matchers with CapturedLogs {
  private val planning = planningOf(shards = 1)

  private def planningOf(shards: Int) = {
    val width = (BigInt(1) << 128) / shards
    val all   =
      Vector.tabulate(shards)(n => Shard(shardId(n), Nil, HashKeyRange(width * n, width * (n + 1) - 1), closed = false))
    PlanningState(
      KinesisOffset.initial,
      Map(stream -> PlanningState.Stream(1L, Lineage(all), all.map(_.id -> TrimHorizon)))
    )
  }

  private def coordinator(channel: ExecutorChannel, alignment: WatermarkAlignment = WatermarkAlignment.off)(implicit
      runtime: Runtime
  ) = new ShardCoordinator(
    channel,
    ReaderConfig("source", Map.empty, bufferBytes = 1 << 20, PollingOptions.Default, failOnDataLoss = true),
    () => ResolvedPublisher.Polling,
    alignment,
    _ => BoundarySpacing.none
  )

  private def records(of: ShardCoordinator, patience: FiniteDuration = 1.second) =
    await(of, patience).statuses.values.map(_.records).sum

  private def await(of: ShardCoordinator, patience: FiniteDuration) =
    of.await(planning, planning.open, Goal(Map.empty, patience))

  describe("an executor by which something is thrown") {
    val error = new OutOfMemoryError("as planned")

    it("when it carries out an order loses its shards to another, and gets a release a second later") {
      val time = new VirtualTime
      import time.runtime
      val channel = new TwoExecutors
      val readers = coordinator(channel)
      channel.throwing = executor => Option.when(executor == channel.orders.head._1)(error)
      records(readers, patience = 1.minute) shouldBe 3
      val Seq(first, second) = channel.orders.map(_._1): @unchecked
      second should not be first
      records(readers, patience = 1.minute) shouldBe 3
      channel.orders.map(_._1) shouldBe Seq(first, second)
      channel.throwing = _ => None
      time.pass(1100.millis)
      records(readers, patience = 1.minute) shouldBe 3
      val (released, order) = channel.orders.last
      (released, order.settings.isDefined, order.read) shouldBe ((first, true, Vector.empty))
    }

    it("in a reader loses its shards to another") {
      val time = new VirtualTime
      import time.runtime
      val channel = new TwoExecutors
      channel.failing = executor =>
        Option.when(executor == channel.orders.head._1)(
          ReaderFailure(FailureReason.BrokenJvm, "KINESIS_CALL_FAILED", "as planned")
        )
      records(coordinator(channel), patience = 1.minute) shouldBe 3
      channel.orders.last._1 should not be channel.orders.head._1
    }
  }

  describe("the settings of tasks") {
    it("say that the query has read once a reader has reported an answer, also one that came after the last order") {
      val time = new VirtualTime
      import time.runtime
      val channel = new TwoExecutors
      val readers = coordinator(channel)
      records(readers, patience = 1.minute) shouldBe 3
      readers.configOfTasks.hasRead shouldBe false
      val (executor, order) = channel.orders.last
      val totals            = ReaderTotals.none.copy(reads = ReadCount(reads = 1, records = 3, bytes = 4))
      channel.report(executor, order.number, order.number + 1, totals)()
      readers.configOfTasks.hasRead shouldBe true
    }
  }

  describe("an executor that doesn't answer as it loses its last shard") {
    it("is sent once it answers again that it reads nothing, though it had reported its order before") {
      val time = new VirtualTime
      import time.runtime
      val channel = new TwoExecutors
      val readers = coordinator(channel)
      records(readers, patience = 1.minute) shouldBe 3
      val all           = channel.answering
      val (lost, order) = channel.orders.last
      channel.shared.answered(lost.id, order.number, answer = None)
      channel.answering = all - lost
      records(readers, patience = 1.minute) shouldBe 3
      channel.orders.last._1 should not be lost
      channel.answering = all
      records(readers, patience = 1.minute) shouldBe 3
      val (released, last) = channel.orders.last
      (released, last.settings.isDefined, last.read) shouldBe ((lost, true, Vector.empty))
    }

    it("is sent that, too, where it had the shard between two plannings alone") {
      val time = new VirtualTime
      import time.runtime
      val channel = new TwoExecutors
      val readers = coordinator(channel)
      records(readers, patience = 1.minute) shouldBe 3
      val first  = channel.orders.last._1
      val second = (channel.answering - first).head
      channel.shared.reassign(Set(first), Set(second))
      channel.shared.reassign(Set(second), Set(first))
      def ofSecond = channel.orders.collect { case (`second`, order) => order }
      channel.shared.answered(second.id, ofSecond.last.number, answer = None)
      val before = ofSecond.size
      records(readers, patience = 1.minute) shouldBe 3
      ofSecond.drop(before).map(order => order.settings.isDefined -> order.read) shouldBe Vector(true -> Vector.empty)
    }
  }

  describe("an executor whose order is lost as a real-time batch begins") {
    it("is sent it again with the next heartbeat, while the batch runs") {
      val time = new VirtualTime
      import time.runtime
      val channel = new Unreachable
      coordinator(channel).open(planning) shouldBe empty
      val before = channel.orders
      channel.shared.found(Reading.id, channel.shared.expected(Reading.id).get, applied = None)
      channel.orders shouldBe before + 1
    }
  }

  describe("a shard that a task of a real-time batch has begun") {
    it("is released by the next order where the batch has it no more") {
      val time = new VirtualTime
      import time.runtime
      val channel = new TwoExecutors
      val readers = coordinator(channel)
      readers.open(planning)
      val executor = channel.orders.head._1
      readers.recordUsage(Map.empty, Map(shard(7) -> executor))
      readers.open(planning)
      channel.orders.map { case (to, order) => to -> order.release } shouldBe
        Vector(executor -> Vector.empty, executor -> Vector(shard(7)))
    }
  }

  describe("the first order alone") {
    it("says how to read: later ones are read in less time, and bring no credentials") {
      val time = new VirtualTime
      import time.runtime
      val channel = new OneExecutor
      val readers = coordinator(channel)
      records(readers) shouldBe 0
      channel.read(3)
      readers.begin(await(readers, patience = 1.minute).admit(Admission.Limits.none, fairnessOffset = 1).slices)
      channel.taken.map(_.settings.isDefined) shouldBe Vector(true, false)
      channel.taken.last.batchEnds should not be empty
    }
  }

  describe("a planning whose readers fill their buffers") {
    it("looks at them 50 times a second, however often they report") {
      val time = new VirtualTime
      import time.runtime
      val channel                                    = new OneExecutor
      val readers                                    = coordinator(channel)
      var looks                                      = 0
      def isEnough(statuses: Iterable[ReaderStatus]) = {
        looks += 1
        channel.read(1)
        false
      }
      channel.read(1)
      val goal = Goal(Map.empty, patience = 1.minute, FillTarget(1.second, isEnough))
      readers.await(planning, planning.open, goal).statuses.values.map(_.records) shouldBe Seq(52)
      looks shouldBe 51
    }
  }

  describe("an executor that carries out its orders and never reports") {
    it("is sent all of them again after 2 s, and each time after twice as long") {
      val time = new VirtualTime
      import time.runtime
      val channel = new Unreporting
      coordinator(channel).await(planning, planning.open, Goal(Map.empty, patience = 1.minute))
      channel.orders.flatMap(_.settings) should have size 6
      channel.orders should have size 6
    }
  }

  describe("an executor that Spark lists and whose end of the channel is gone") {
    it("is sent its orders again after a pause each time") {
      val time = new VirtualTime
      import time.runtime
      val channel = new Unreachable
      coordinator(channel).await(planning, planning.open, Goal(Map.empty, patience = 1.second))
      channel.orders should be <= 101
    }
  }

  describe("a planning whose shards have all been read to their stops") {
    it("waits for nothing: other sources of the query may have more to read") {
      val time = new VirtualTime
      import time.runtime
      val readers = coordinator(new Unreporting)
      val began   = runtime.clock.nanos()
      val stops   = Map(shard(0) -> AfterSequenceNumber(number(3)))
      readers.await(planning, Map.empty, Goal(stops, Duration.Inf)).statuses shouldBe empty
      runtime.clock.nanos() shouldBe began
    }
  }

  describe("a shard that is behind and brings nothing for 30 s") {
    it("is named by a warning when the other shards continue without it") {
      val time = new VirtualTime
      import time.runtime
      val two        = planningOf(shards = 2)
      val readers    = coordinator(new Uneven, WatermarkAlignment(Some(1000)))
      val (_, lines) = withLogs(Map("io.github.kinesisspark" -> Level.WARN), Some(Thread.currentThread)) {
        readers.await(two, two.open, Goal(Map.empty, patience = 1.minute))
      }
      time.elapsed should (be >= 30.seconds and be < 31.seconds)
      lines.linesIterator.filter(_.startsWith("WARN")).toVector should matchPattern {
        case Vector(line: String) if line.contains(shard(1).toString) && line.contains("maxShardSkew") =>
      }
    }
  }

  describe("an executor that Spark has lost and found again") {
    it("takes the first order it gets, which is newer than those it had before") {
      val time = new VirtualTime
      import time.runtime
      val channel = new OneExecutor
      val readers = coordinator(channel)
      (1 to 5).foreach(_ => records(readers))
      val before = channel.applied
      channel.isPresent = false
      records(readers)
      channel.isPresent = true
      records(readers)
      channel.refused shouldBe 0
      channel.applied should be > before
    }
  }
}

private object ShardCoordinatorSpec {
  private val Reading = ExecutorId("host", "1")
  private val Idle    = ExecutorId("host", "2")

  /** A channel to two executors that read three records of each of their shards, unless something is thrown there. */
  private final class TwoExecutors(implicit runtime: Runtime) extends StubChannel {

    /** By what is an order not carried out? */
    var throwing: ExecutorId => Option[Throwable] = _ => None

    /** By what do its readers fail? */
    var failing: ExecutorId => Option[ReaderFailure] = _ => None

    /** Those that were sent. */
    var orders = Vector.empty[(ExecutorId, ReadOrder)]

    private val all = Set("1", "2").map(ExecutorId("host", _))
    var answering   = all

    override def executors(): ExecutorsNow =
      ExecutorsNow(usable = if (answering.isEmpty) all else answering, answering, all)

    override def sendOrders(some: Vector[(ExecutorId, ReadOrder)]): Unit = some.foreach { case (executor, order) =>
      orders :+= executor -> order
      throwing(executor) match {
        case Some(cause) => shared.failed(executor.id, order.number, OrderFailure.Thrown(cause))
        case None        =>
          report(executor, order.number, order.number)(
            order.read.map(task => status(task.shard, records = 3, failing(executor))): _*
          )
      }
    }
  }

  /** A channel to an executor that has records of its first shard, and gets no answer with records of others. */
  private final class Uneven(implicit runtime: Runtime) extends StubChannel {
    override def executors(): ExecutorsNow = ExecutorsNow.all(Set(Reading))

    override def sendOrders(orders: Vector[(ExecutorId, ReadOrder)]): Unit = orders.foreach { case (executor, order) =>
      report(executor, order.number, order.number)(order.read.map { task =>
        if (task.shard == shard(0))
          status(task.shard, records = 3).copy(oldestArrival = Some(100000), newestArrival = Some(100000))
        else status(task.shard, records = 0).copy(millisBehind = Some(5000))
      }: _*)
    }
  }

  /** A channel to an executor that reads one shard. */
  private final class OneExecutor(implicit runtime: Runtime) extends StubChannel {

    /** Otherwise another executor is there, which does nothing. */
    var isPresent = true

    var applied = 0L
    var refused = 0

    /** Those it got and took. */
    var taken = Vector.empty[ReadOrder]

    private var last  = Option.empty[ReadOrder]
    private var sent  = 0L
    private var known = 0L

    /** Its reader has read so many more records. */
    def read(records: Long): Unit = {
      known += records
      last.foreach(report)
    }

    override def sendOrders(orders: Vector[(ExecutorId, ReadOrder)]): Unit = orders.foreach { case (executor, order) =>
      if (executor == Reading)
        if (order.number > applied) {
          applied = order.number
          last = Some(order)
          taken :+= order
          report(order)
        } else {
          refused += 1
          shared.answered(executor.id, order.number, answer = None)
        }
    }

    private def report(order: ReadOrder): Unit = {
      sent += 1
      report(Reading, order.number, sent)(status(shard(0), known))
    }

    override def executors(): ExecutorsNow = ExecutorsNow.all(Set(if (isPresent) Reading else Idle))
  }

  /** A channel to an executor that says of each order that it has been carried out, and nothing else. */
  private final class Unreporting(implicit runtime: Runtime) extends StubChannel {

    /** Those that were sent. */
    var orders = Vector.empty[ReadOrder]

    override def executors(): ExecutorsNow = ExecutorsNow.all(Set(Reading))

    override def sendOrders(some: Vector[(ExecutorId, ReadOrder)]): Unit = some.foreach { case (executor, order) =>
      orders :+= order
      shared.answered(executor.id, order.number, Some(OrderAnswer(isNext = true, report = None)))
    }
  }

  /** A channel to an executor whose end is gone: each order fails as it is sent. */
  private final class Unreachable(implicit runtime: Runtime) extends StubChannel {
    var orders = 0

    override def executors(): ExecutorsNow = ExecutorsNow.all(Set(Reading))

    override def sendOrders(some: Vector[(ExecutorId, ReadOrder)]): Unit = some.foreach { case (executor, order) =>
      orders += 1
      if (orders > 1000) throw new IllegalStateException("orders are sent without a pause")
      shared.answered(executor.id, order.number, answer = None)
    }
  }
}
