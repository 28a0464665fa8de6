package io.github.kinesisspark.benchmarks

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}
import java.nio.charset.StandardCharsets.UTF_8

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
  * do. Prints a JSON line for each size, with the median of the rounds.
  *
  * {{{./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.PlanningScale"}}}
  */
object PlanningScale {
  private val Sizes       = Seq(16, 160, 1000, 1600, 10000)
  private val Warmup      = 30
  private val Rounds      = 41
  private val Created     = 1700000000000L
  private val Arn         = StreamArn("arn:aws:kinesis:eu-west-1:111122223333:stream/events")
  private val Executors   = (1 to 8).map(i => ExecutorId(s"10.0.0.$i", i.toString)).toVector
  private val RecordBytes = 200L
  private val Keys        = BigInt(1) << 128
  private val Skew        = 10.seconds

  private def spacing(shards: Int) = BoundarySpacing.of(isLimited = true, parts = 1, Some(Skew.toMillis), shards)

  def main(args: Array[String]): Unit = {
    val report  = new Report(this, args.toSeq)
    val results = Sizes.map(n => n -> measure(n))
    results.foreach { case (n, m) => report.print(m.json(n)) }
    val ms = results.toMap.view.mapValues(_.totalMillis).toMap
    report.print(f"""{"bench":"planning","ratio":"t(10000)/t(1000)","value":${ms(10000) / ms(1000)}%.2f,"goal":12}""")
  }

  /** What a batch takes in all, in ms, of each round. */
  def totals(shards: Int): Seq[Double] = measure(shards).rounds

  /** @param rounds in ms, all steps together */
  private final case class Measured(
      steps: Seq[(String, Double)],
      rounds: Seq[Double],
      offsetBytes: Int,
      orderBytes: Int,
      reportBytes: Int,
      messageMillis: Double,
      heapBytes: Long
  ) {
    def totalMillis: Double = steps.map(_._2).sum

    def json(shards: Int): String = {
      val each = steps.map { case (name, ms) => f""""$name":$ms%.3f""" }.mkString(",")
      f"""{"bench":"planning","shards":$shards,"total_ms":$totalMillis%.3f,$each,"offset_json_bytes":$offsetBytes,""" +
        f""""order_bytes":$orderBytes,"report_bytes":$reportBytes,"messages_ms":$messageMillis%.1f,"catalog_and_offset_heap_bytes":$heapBytes}"""
    }
  }

  private def measure(n: Int): Measured = {
    val before = LiveHeap.bytes()
    val shards = (0 until n).map { i =>
      Shard(f"shardId-$i%012d", Nil, HashKeyRange(Keys / n * i, Keys / n * (i + 1) - 1), closed = false)
    }
    val start = KinesisOffset(
      Map(Arn -> StreamOffset(Created, shards.map(s => s.id -> ShardProgress(at(s, 0), firstPosition = None)).toMap))
    )
    val lineage = Lineage(shards)
    val heap    = LiveHeap.bytes() - before
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
    val fleet  = new Fleet(tips)
    val rounds = (1 to Warmup + Rounds)
      .map(fairnessOffset => planOnce(fleet, lineage, start, tips, fairnessOffset.toLong))
      .drop(Warmup)
    val steps = rounds.head.steps.map(_._1).map { name =>
      val times = rounds.map(_.steps.collectFirst { case (`name`, ms) => ms }.get).sorted
      name -> times(times.size / 2)
    }
    val (orders, reports) = (fleet.sent, fleet.said)
    val messages          = (1 to Warmup + Rounds).map(_ => passed(orders ++ reports)).drop(Warmup).sorted
    Measured(
      steps,
      rounds.map(_.steps.map(_._2).sum),
      rounds.head.offset.getBytes(UTF_8).length,
      orders.map(sizeOf).sum,
      reports.map(sizeOf).sum,
      messages(messages.size / 2),
      heap
    )
  }

  private final case class Round(steps: Seq[(String, Double)], offset: String)

  private def planOnce(
      fleet: Fleet,
      lineage: Lineage,
      start: KinesisOffset,
      tips: Map[ShardKey, ReaderStatus],
      fairnessOffset: Long
  ): Round = {
    val steps = Seq.newBuilder[(String, Double)]
    fleet.sent = Vector.empty
    fleet.said = Vector.empty
    def timed[A](name: String)(work: => A): A = {
      val elsewhere = fleet.nanos
      val began     = System.nanoTime()
      val done      = work
      steps += name -> (System.nanoTime() - began - (fleet.nanos - elsewhere)) / 1e6
      done
    }
    val planning = timed("state_ms") {
      val f = PlanningState(start, Map(Arn -> PlanningState.Stream(Created, lineage, Vector.empty)))
      require(f.reading.size == tips.size && f.pastRetention.isEmpty && f.ending.isEmpty && f.awaitingChildren.isEmpty)
      f
    }
    timed("assignment_ms") {
      val placed = planning.reading.keysIterator.map(s => PlacedShard(s, planning.hashStart(s), 1, None)).toVector
      require(ShardAssignment.assign(placed, Executors, tolerance = 0.2).size == tips.size)
    }
    val view = timed("tips_ms")(
      fleet.readers.await(planning, planning.open, PlanningView.Goal(Map.empty, Duration.Inf))
    )
    val statuses = view.statuses
    timed("seen_ms")(planning.end(statuses.view.mapValues(_.position).toMap))
    val half  = Admission.Limits(Some(50L * tips.size), None)
    val batch = timed("admission_ms") {
      val admitted = view.admit(half, fairnessOffset).slices
      fleet.readers.begin(admitted)
      admitted
    }
    val cuts  = batch.ends
    val moved = timed("end_ms")(planning.end(cuts.view.mapValues(_.position).toMap))
    timed("metrics_ms")(SourceMetrics.none.next(statuses.keys, statuses, cuts, fleet.readers.now, None, 0).toJava)
    timed("retention_ms") {
      val complete = statuses.map { case (shard, tip) => shard -> tip.completeTo(tip.all, Created + fairnessOffset) }
      require(RetentionLag(complete.map { case (shard, _) => shard -> Created }).after(complete, _ => 0L)._2.isEmpty)
    }
    val known = Completeness(tips.map { case (shard, _) => shard -> Created })
    val end   = timed("complete_ms") {
      val complete = for {
        (shard, cut) <- cuts
        time         <- statuses(shard).completeTo(cut, Created + fairnessOffset)
      } yield shard -> time
      known.after(complete, moved).recordIn(moved)
    }
    val json   = timed("offset_write_ms")(OffsetJson.write(end))
    val ranges = timed("ranges_ms")(start.rangesTo(end))
    timed("grouping_ms")(fleet.readers.group(batch, ranges, leastTasks = 1))
    Round(steps.result(), json)
  }

  /** Eight executors that have read ahead in all shards, and report at once. */
  private final class Fleet(tips: Map[ShardKey, ReaderStatus]) extends ExecutorChannel {

    private implicit val runtime: Runtime = Runtime.ofJvm

    /** What their own work has taken so far. */
    var nanos = 0L

    /** Orders and reports of the current round. */
    var sent = Vector.empty[ReadOrder]
    var said = Vector.empty[ReaderReport]

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
      sent ++= orders.map(_._2)
      for ((executor, order) <- orders if order.read.nonEmpty) reports.accept(report(executor, order))
    }

    private def report(executor: ExecutorId, order: ReadOrder) = {
      val statuses = order.read.map(task => tips(task.shard))
      val report   = ReaderReport(
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
      said :+= report
      report
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

  /** What messages take of time without the network: each written and read. */
  private def passed(messages: Seq[java.io.Serializable]): Double = {
    val began = System.nanoTime()
    messages.foreach(value => new ObjectInputStream(new ByteArrayInputStream(written(value))).readObject())
    (System.nanoTime() - began) / 1e6
  }

  private def sizeOf(value: java.io.Serializable): Int = written(value).length

  private def written(value: java.io.Serializable): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    new ObjectOutputStream(bytes).writeObject(value)
    bytes.toByteArray
  }
}
