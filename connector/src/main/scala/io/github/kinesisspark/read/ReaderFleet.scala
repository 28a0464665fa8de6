package io.github.kinesisspark.read

import scala.concurrent.duration._

import io.github.kinesisspark.position.{ShardKey, ShardPosition, ShardRange}
import io.github.kinesisspark.read.plan._
import io.github.kinesisspark.read.shard._

/** All shard readers of one source, seen from the driver: who reads what, how far they are, and where a batch may end.
  *
  * Used by the query's own thread only.
  */
final class ReaderFleet(prober: Prober, val config: ReaderConfig, publishing: Publishing) extends AutoCloseable {
  import ReaderFleet._

  private var homes     = Map.empty[ShardKey, ExecutorId]
  private var executors = Vector.empty[ExecutorId]
  private var weights   = Map.empty[ShardKey, Long]
  private var answers   = Vector.empty[ProbeAnswer]
  private var lastNews  = System.nanoTime()
  private var lastAsked = Option.empty[Long]
  private var lease     = ShortestLease

  /** How far the readers are beyond the positions, once that is worth planning: somebody has something and everybody has
    * begun, or nobody has anything more.
    *
    * @param ending   shards that are closed
    * @param patience how long shards that say nothing may hold up the answer that nothing is there
    */
  def awaitTips(
      reading: Map[ShardKey, ShardPosition],
      ending: Set[ShardKey],
      patience: Duration
  ): Map[ShardKey, ShardTip] = {
    val began = System.nanoTime()
    renewLease(began)
    @annotation.tailrec
    def await(): Map[ShardKey, ShardTip] = {
      probe(reading, ending, began)
      val tips    = answers.iterator.flatMap(_.tips).map(t => t.shard -> t).toMap
      val elapsed = (System.nanoTime() - began).nanos
      val news    = tips.exists { case (shard, t) => t.failure.isDefined || !reading.get(shard).contains(t.position) }
      val heard   = tips.size == reading.size
      val enough  =
        if (news) (heard && answers.forall(_.opened)) || elapsed > OpeningPatience
        else (heard && answers.forall(_.settled)) || elapsed > patience
      if (news) lastNews = System.nanoTime()
      if (enough && reading.nonEmpty) tips
      else {
        pause(news)
        if (enough) tips else await()
      }
    }
    await()
  }

  /** Where each shard's part of the batch ends: all that was read, or what the limits let in.
    *
    * @param caps the most records to take of single shards
    */
  def admit(
      tips: Map[ShardKey, ShardTip],
      limits: Admission.Limits,
      caps: Map[ShardKey, Long],
      turn: Long
  ): Map[ShardKey, RecordBuffer.Cut] = {
    val available = tips.values.iterator
      .map(t => Admission.Available(t.shard, caps.get(t.shard).fold(t.records)(_.min(t.records)), t.bytes))
      .toVector
      .sortBy(_.shard.toString)
    val cuts = Admission.divide(available, limits, turn) match {
      case None =>
        val (capped, whole) = tips.values.toVector.partition(t => caps.get(t.shard).exists(_ < t.records))
        whole.map(t => t.shard -> t.all).toMap ++
          resolve(capped.map(t => Admission.Allotment(t.shard, caps(t.shard), Long.MaxValue)))
      case Some(allotments) =>
        val nothing = tips.filter(_._2.records == 0).view.mapValues(_.all).toMap
        nothing ++ atLeastOne(resolve(allotments), available, turn)
    }
    weights = cuts.view.mapValues(_.bytes).toMap
    cuts
  }

  /** The batch's tasks: ranges stay with their readers. */
  def group(ranges: Seq[ShardRange]): Vector[RangeGrouping.Group] = {
    // After a restart the first batch is planned before anybody was asked.
    if (executors.isEmpty) settleOn(prober.executors(), ranges.map(_.shard))
    RangeGrouping.group(
      ranges,
      home = range => homes.get(range.shard),
      weight = range => weights.getOrElse(range.shard, RangeGrouping.BytesWorthATask),
      coresPerExecutor = prober.cores(executors.size)
    )
  }

  def totals: Totals = Totals(
    bufferedBytes = answers.map(_.bufferedBytes).sum,
    rereadBytes = answers.map(_.rereadBytes).sum,
    rereadRecords = answers.map(_.rereadRecords).sum,
    reads = answers.map(_.reads).foldLeft(ReadCount.none)(_ and _),
    subscriptions = answers.flatMap(_.subscriptions).reduceOption(_ and _)
  )

  /** Some executor's readers have little room left. */
  def nearlyFull: Boolean = answers.exists(_.bufferedBytes > config.bufferBytes - PollingRecordPublisher.LargestAnswer)

  /** A moment, because asking again at once would find the same. */
  def pause(): Unit = pause(news = false)

  override def close(): Unit = prober.release(config.source, executors)

  private def probe(reading: Map[ShardKey, ShardPosition], ending: Set[ShardKey], began: Long): Unit = {
    settleOn(prober.executors(), reading.keys)
    val byHome   = reading.toVector.groupBy { case (shard, _) => homes(shard) }
    val requests = executors.map { executor =>
      val mine = byHome.getOrElse(executor, Vector.empty)
      executor -> ProbeRequest(
        executor.id,
        config,
        publishing.publication,
        mine,
        mine.iterator.map(_._1).filter(ending).toSet,
        sinceMillis = (System.nanoTime() - began).nanos.toMillis,
        waitMillis = ProbeWait.toMillis,
        leaseMillis = lease.toMillis
      )
    }
    answers = prober.probe(requests).map(_._2)
  }

  private def settleOn(alive: Vector[ExecutorId], shards: Iterable[ShardKey]): Unit =
    if (alive.toSet != executors.toSet || homes.size != shards.size || !shards.forall(homes.contains)) {
      executors = alive
      homes = for {
        (executor, mine) <- ShardAssignment.assign(shards, alive)
        shard            <- mine
      } yield shard -> executor
    }

  private def resolve(allotments: Vector[Admission.Allotment]): Map[ShardKey, RecordBuffer.Cut] = {
    val requests = allotments.groupBy(a => homes(a.shard)).toVector.map { case (executor, mine) =>
      executor -> CutRequest(executor.id, config.source, mine.map(a => (a.shard, a.maxRecords, a.maxBytes)))
    }
    prober.cut(requests).flatMap(_._2.cuts).toMap
  }

  /** A record larger than the whole limit must not stop the stream: then it makes a batch of its own. */
  private def atLeastOne(
      cuts: Map[ShardKey, RecordBuffer.Cut],
      available: Vector[Admission.Available],
      turn: Long
  ): Map[ShardKey, RecordBuffer.Cut] =
    if (cuts.values.exists(_.records > 0)) cuts
    else {
      val holding = available.filter(_.records > 0)
      val one     = holding((turn % holding.size).toInt)
      resolve(Vector(Admission.Allotment(one.shard, 1, Long.MaxValue)))
    }

  private def renewLease(now: Long): Unit = {
    lastAsked.foreach(last => lease = lease.max((now - last).nanos * 3))
    lastAsked = Some(now)
  }

  /** The longer nothing comes, the less often we ask; a stream that wakes up is noticed within half a second. */
  private def pause(news: Boolean): Unit = {
    val idle = (System.nanoTime() - lastNews).nanos
    val time = if (news) ShortestPause else (idle / 10).max(ShortestPause).min(LongestPause)
    Thread.sleep(time.toMillis)
  }
}

object ReaderFleet {

  /** Over all executors: bytes of heap held, and what tasks had to read from Kinesis again. */
  final case class Totals(
      bufferedBytes: Long,
      rereadBytes: Long,
      rereadRecords: Long,
      reads: ReadCount,
      subscriptions: Option[SubscriptionReport]
  )

  object Totals {
    val none: Totals = Totals(0, 0, 0, ReadCount.none, None)
  }

  /** How long a probe waits for news in the executor. It takes a task slot for that time. */
  private val ProbeWait = 100.millis

  private val ShortestPause = 10.millis
  private val LongestPause  = 500.millis

  /** How long the first answers of some shards may hold up what others have already. */
  private val OpeningPatience = 2.seconds

  /** Readers go on this long without a probe; longer where the query's triggers lie further apart. */
  private val ShortestLease = 5.minutes
}
