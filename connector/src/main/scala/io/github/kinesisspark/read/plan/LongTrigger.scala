package io.github.kinesisspark.read.plan

import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.PlanningView.Admitted

/** How far a batch goes beyond what readers hold, where they hold less than their shards give until the next trigger. It takes what a shard gives
  * in one and a half intervals, at the service's 2 MiB/s: a batch that is too long only delays the next trigger, one that is too short leaves the
  * shards idle.
  *
  * No call of Kinesis returns where so many bytes of a shard end, only what arrived at a time. So bytes become time: by the density of what the reader
  * has read so far, which is 1 MiB/s at most, as a shard takes no more.
  *
  * @param interval from trigger to trigger
  */
final case class LongTrigger(interval: FiniteDuration, alignment: WatermarkAlignment) {
  import LongTrigger._

  /** What to ask for a batch to go beyond the readers' buffers; nothing where they hold enough.
    *
    * @param admitted the batch as far as readers hold it
    */
  def questions(statuses: Map[ShardKey, ReaderStatus], admitted: Admitted): Option[Questions] = {
    val within = admitted.slices.ends
    val beyond = behind(statuses, within)
    val silent = holdingNothing(statuses)
    val known  = beyond.iterator.map(_.shard).toSet ++ silent
    val others = admitted.notReported ++ admitted.earliestPending.collect {
      case (shard, time) if !known(shard) => time
    } ++
      within.collect { case (shard, cut) if !known(shard) => cut.nextArrival }.flatten
    val wanted = times(beyond, silent, others)
    Option.when(wanted.nonEmpty)(
      Questions(wanted, beyond.map(_.oldest).min, beyond.map(_.writeSecond).min, interval, alignment)
    )
  }

  /** The shards whose parts of a batch may end later than their readers stand. A reader that the batch before has just emptied stands where it has read to:
    * where a batch follows another at once, it may hold nothing yet.
    */
  private[plan] def behind(
      statuses: Map[ShardKey, ReaderStatus],
      within: Map[ShardKey, CutPoint]
  ): Vector[Behind] = for {
    (shard, cut) <- within.toVector
    status       <- statuses.get(shard)
    if cut.position == status.position && status.outlasts(interval) && !status.starved
    oldest <- status.oldestArrival.orElse(status.reached)
    newest <- status.newestArrival.orElse(status.reached)
  } yield Behind(shard, status.density, status.bytes, status.room, oldest, newest)

  /** The shards whose readers hold nothing, and say nothing of the shard: others hold all memory, or there was no answer yet, as after a batch that left no
    * memory to them. A shard that begins at a time is not among them, and holds the others back: a batch can't end after its first record as long as nobody
    * knows which record that is.
    */
  private[plan] def holdingNothing(statuses: Map[ShardKey, ReaderStatus]): Vector[ShardKey] = {
    def hasNoAnswer(s: ReaderStatus) =
      s.records == 0 && s.millisBehind.isEmpty && !s.isComplete && !s.starved && s.failure.isEmpty
    statuses.valuesIterator.collect {
      case s if !s.start.isTime && ((s.starved && s.outlasts(interval)) || hasNoAnswer(s)) => s.shard
    }.toVector
  }

  /** The arrival time up to which the batch takes each shard; only of shards that are to bring more than they hold.
    *
    * @param silent          shards whose readers hold nothing: they go as far as the one that ends first
    * @param earliestPending the earliest arrivals of the other shards, and of children, that none may run ahead of
    */
  private[plan] def times(
      behind: Vector[Behind],
      silent: Vector[ShardKey],
      earliestPending: Iterable[Long]
  ): Map[ShardKey, Long] = {
    val wanted       = ReadLimit * interval.toMillis / 1000 * 3 / 2
    val (more, rest) = behind.partition(b => wanted > b.room && wanted > b.bytes)
    val each         = more.map(b => b -> (b.oldest + b.density.millisOf(wanted)))
    val latest       = alignment.horizon(each.map(_._2) ++ rest.map(_.newest) ++ earliestPending)
    val times        = each.collect {
      case (b, time) if latest.forall(_ > b.newest) => b.shard -> latest.fold(time)(_.min(time))
    }.toMap
    times ++ times.values.minOption.fold(Map.empty[ShardKey, Long])(first => silent.map(_ -> first).toMap)
  }
}

object LongTrigger {

  /** A shard with more than its reader holds.
    *
    * @param density of what its reader has read lately
    * @param bytes   of what it holds, all of which is in the batch
    * @param room    bytes it may hold
    * @param oldest  arrival of the oldest record that it holds, in ms by the service's clock. A reader that holds none: what arrived before is read
    * @param newest  arrival of the newest record that it holds, in ms by the service's clock
    */
  final case class Behind(
      shard: ShardKey,
      density: ArrivalDensity,
      bytes: Long,
      room: Long,
      oldest: Long,
      newest: Long
  ) {

    /** The time, in ms, in which as much arrives as a shard may take in a second: less than a second where what its reader holds came faster, in a
      * server without that limit or in one that allows bursts.
      */
    def writeSecond: Long =
      if (bytes <= WriteLimit) Second else (WriteLimit * (newest - oldest) / bytes).max(1L).min(Second)
  }

  /** What Kinesis is asked for: of each shard the first record that arrived at a time, or one close to the newest.
    *
    * @param times     in ms by the service's clock
    * @param oldest    the earliest arrival in what readers hold
    * @param apart     how close, in ms
    * @param within    how long answers are waited for: a batch that waits longer has less in each interval than one without them
    * @param alignment for shards that end before their time
    */
  final case class Questions(
      times: Map[ShardKey, Long],
      oldest: Long,
      apart: Long,
      within: FiniteDuration,
      alignment: WatermarkAlignment
  )

  /** Of a shard, in bytes a second.
    *
    * @see [[https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html Kinesis: quotas and limits]]
    */
  private[plan] val ReadLimit  = 2L << 20
  private[plan] val WriteLimit = 1L << 20

  private val Second = 1000L
}

/** How densely a shard's records lie in time, by what was read of it last.
  *
  * @param bytes  of data and keys
  * @param millis from the arrival of the first to that of the last
  */
final case class ArrivalDensity(bytes: Long, millis: Long) {
  import ArrivalDensity._

  /** With what was read next. What was read before counts less and less. */
  def and(moreBytes: Long, moreMillis: Long): ArrivalDensity = {
    val all = ArrivalDensity(bytes + moreBytes, millis + moreMillis)
    if (all.bytes > Window) ArrivalDensity(all.bytes / 2, all.millis / 2) else all
  }

  /** The time in which so many bytes arrive. */
  def millisOf(wanted: Long): Long = {
    val perSecond = if (millis == 0) LongTrigger.WriteLimit else bytes * 1000 / millis
    wanted * 1000 / perSecond.max(Sparsest).min(LongTrigger.WriteLimit)
  }
}

object ArrivalDensity {

  /** Of a reader that has read nothing. */
  val unknown: ArrivalDensity = ArrivalDensity(0, 0)

  /** Half a minute of reading at least. */
  private val Window = 64L << 20

  /** In bytes a second. Where a dense part follows a sparse one, a batch takes sixteen times what is wanted, no more. */
  private val Sparsest = LongTrigger.WriteLimit / 16
}
