package io.github.kinesisspark.benchmarks

import scala.concurrent.duration._

import io.github.kinesisspark.config.PollingOptions
import io.github.kinesisspark.position.ShardPosition.AfterSequenceNumber
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.coordinator.{ExecutorChannel, ExecutorsNow, ShardCoordinator, SharedOrders}
import io.github.kinesisspark.read.plan.{
  Admission,
  ArrivalDensity,
  Boundaries,
  BoundarySpacing,
  Completeness,
  ExecutorId,
  Lineage,
  PlacedShard,
  PlanningState,
  PlanningView,
  ReaderStatus,
  RetentionLag,
  ShardAssignment,
  WatermarkAlignment
}
import io.github.kinesisspark.read.reader.{
  KinesisRecord,
  Liveness,
  ReadOrder,
  ReaderConfig,
  ReaderReport,
  ReaderTotals,
  RecordBuffer,
  ResolvedPublisher
}
import io.github.kinesisspark.read.stream.SourceMetrics
import io.github.kinesisspark.runtime.Runtime

/** The driver's own work for one batch, against the number of shards: everything that it does itself, and no calls. Executors
  * report at once, and what that takes doesn't count. Reading an offset from JSON is no part of it: the source remembers those it made.
  *
  * A stream of that many shards, each with a hundred records read beyond its position; eight executors; a limit that lets
  * half of it in, which is the costly case; and all shards assigned anew, as after an executor has come or gone, which most batches don't
  * do.
  */
object PlanningScale {
  private val Warmup      = 30
  private val Rounds      = 41
  private val Created     = 1700000000000L
  private val Arn         = StreamArn("arn:aws:kinesis:eu-west-1:111122223333:stream/events")
  private val Executors   = (1 to 8).map(i => ExecutorId(s"10.0.0.$i", i.toString)).toVector
  private val RecordBytes = 200L
  private val Keys        = BigInt(1) << 128
  private val Skew        = 10.seconds

  private def spacing(shards: Int) = BoundarySpacing.of(isLimited = true, parts = 1, Some(Skew.toMillis), shards)

  /** What a batch takes in all, in ms, of each round. */
  def totals(n: Int): Seq[Double] = {
    val shards = (0 until n).map { i =>
      Shard(f"shardId-$i%012d", Nil, HashKeyRange(Keys / n * i, Keys / n * (i + 1) - 1), closed = false)
    }
    val start = KinesisOffset(
      Map(Arn -> StreamOffset(Created, shards.map(s => s.id -> ShardProgress(at(s, 0), firstPosition = None)).toMap))
    )
    val lineage = Lineage(shards)
    val tips    = shards.map { s =>
      val key  = ShardKey(Arn, s.id)
      val held =
        Array.tabulate(100)(i => KinesisRecord(at(s, i + 1).number, "", new Array(RecordBytes.toInt), Created))
      key -> ReaderStatus(
        key,
        at(s, 0),
        first = None,
        at(s, 100),
        Boundaries.none(spacing(n)).add(new RecordBuffer.Packed(held), 0, held.length),
        100,
        100 * RecordBytes,
        heap = KinesisRecord.heapOf(100, 100L * RecordBytes),
        room = 1L << 20,
        isFull = false,
        Some(Created),
        Some(Created),
        Some(Created),
        ArrivalDensity.unknown,
        starved = false,
        isComplete = false,
        Some(0L),
        Some(0L),
        openingMillis = None,
        isOnItsWay = false,
        None,
        Vector.empty
      )
    }.toMap
    val fleet = new Fleet(tips)
    (1 to Warmup + Rounds)
      .map(fairnessOffset => planOnce(fleet, lineage, start, tips, fairnessOffset.toLong))
      .drop(Warmup)
  }

  /** What it takes, in ms. */
  private def planOnce(
      fleet: Fleet,
      lineage: Lineage,
      start: KinesisOffset,
      tips: Map[ShardKey, ReaderStatus],
      fairnessOffset: Long
  ): Double = {
    val (elsewhere, began) = (fleet.nanos, System.nanoTime())
    val planning           = PlanningState(start, Map(Arn -> PlanningState.Stream(Created, lineage, Vector.empty)))
    require(planning.reading.size == tips.size && planning.pastRetention.isEmpty)
    require(planning.ending.isEmpty && planning.awaitingChildren.isEmpty)
    val placed = planning.reading.keysIterator.map(s => PlacedShard(s, planning.hashStart(s), 1, None)).toVector
    require(ShardAssignment.assign(placed, Executors, tolerance = 0.2).size == tips.size)
    val view     = fleet.readers.await(planning, planning.open, PlanningView.Goal(Map.empty, Duration.Inf))
    val statuses = view.statuses
    planning.end(statuses.view.mapValues(_.position).toMap): Unit
    val half  = Admission.Limits(Some(50L * tips.size), None)
    val batch = view.admit(half, fairnessOffset).slices
    fleet.readers.begin(batch)
    val cuts  = batch.ends
    val moved = planning.end(cuts.view.mapValues(_.position).toMap)
    SourceMetrics.none.next(statuses.keys, statuses, cuts, fleet.readers.now, None, 0).toJava: Unit
    val times = statuses.map { case (shard, tip) => shard -> tip.completeTo(tip.all, Created + fairnessOffset - _) }
    require(RetentionLag(times.map { case (shard, _) => shard -> Created }).after(times, _ => 0L)._2.isEmpty)
    val complete = for {
      (shard, cut) <- cuts
      time         <- statuses(shard).completeTo(cut, Created + fairnessOffset - _)
    } yield shard -> time
    val known = Completeness(tips.map { case (shard, _) => shard -> Created })
    val end   = known.after(complete, moved).recordIn(moved, _ => 24L)
    require(OffsetJson.write(end).nonEmpty)
    fleet.readers.group(batch, start.rangesTo(end), leastTasks = 1): Unit
    (System.nanoTime() - began - (fleet.nanos - elsewhere)) / 1e6
  }

  /** Eight executors that have read ahead in all shards, and report at once. */
  private final class Fleet(tips: Map[ShardKey, ReaderStatus]) extends ExecutorChannel {

    private implicit val runtime: Runtime = Runtime.ofJvm

    /** What their own work has taken so far. */
    var nanos = 0L

    val readers = new ShardCoordinator(
      this,
      ReaderConfig("planning", Map.empty, bufferBytes = 256L << 20, PollingOptions.Default, failOnDataLoss = true),
      () => ResolvedPublisher.Polling,
      WatermarkAlignment(Some(Skew.toMillis)),
      spacing
    )

    override def executors(): ExecutorsNow           = ExecutorsNow.all(Executors.toSet)
    override def idleTimeout: Option[FiniteDuration] = None
    override def cores: Int                          = 4 * Executors.size
    override def coresOfAnExecutor: Int              = 4
    override def tasksOfAnExecutor: Int              = 4

    override val shared: SharedOrders        = new SharedOrders
    override def liveness: Liveness          = Liveness.Heartbeats
    override def refusal(): Option[String]   = None
    override def reportPause: FiniteDuration = 5.millis

    override def release(executors: Iterable[ExecutorId]): Unit = ()

    override def sendOrders(orders: Vector[(ExecutorId, ReadOrder)]): Unit = elsewhere {
      for ((executor, order) <- orders if order.read.nonEmpty) reports.accept(report(executor, order))
    }

    private def report(executor: ExecutorId, order: ReadOrder) = {
      val statuses = order.read.map(task => tips(task.shard))
      ReaderReport(
        executor.id,
        "planning",
        pool = 1,
        order.number,
        isOfAllReaders = true,
        order.number,
        System.nanoTime(),
        statuses,
        gone = Vector.empty,
        counts = Vector.empty,
        hasNews = true,
        ReaderTotals.none.copy(bufferedBytes = statuses.map(_.bytes).sum)
      )
    }

    private def elsewhere[A](work: => A): A = {
      val began = System.nanoTime()
      val done  = work
      nanos += System.nanoTime() - began
      done
    }
  }

  private def at(shard: Shard, ahead: Int) =
    AfterSequenceNumber(
      SequenceNumber(f"4968042592${shard.id.takeRight(8)}0316716009666593121580033988622${ahead}%07d")
    )
}
