package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.ReaderStatus
import io.github.kinesisspark.read.reader.{ReaderReport, ReaderTotals, ShardCounts}
import io.github.kinesisspark.runtime.Runtime
import io.github.kinesisspark.read.coordinator.ReaderReports._

/** What the readers of one source have reported: the latest of each executor, and the last order that it has carried out. Thread-safe: the
  * query's thread looks at the reports and waits for news, and any thread may add a report.
  */
final class ReaderReports(implicit runtime: Runtime) {
  // All below is guarded by `this`.
  private var byExecutor = Map.empty[String, Reported]
  private var changes    = 0L
  private var done       = Map.empty[String, Long]
  private var gone       = ReaderTotals.none

  /** Whether the report was used. A report of changes must follow the last one; otherwise the executor sends one of all readers. */
  def accept(report: ReaderReport): Boolean = synchronized {
    val before = byExecutor.get(report.executorId)
    val after  = before.fold(Reported.of(report))(_.and(report))
    val isUsed = after.isDefined
    after.foreach { now =>
      before.filter(_.pool != now.pool).foreach(countGone)
      byExecutor += report.executorId -> now
      recordApplied(report.executorId, report.applied)
      if (report.hasNews) signal()
    }
    isUsed
  }

  /** An executor has carried out all orders up to that one. */
  def recordApplied(executor: String, order: Long): Unit = synchronized {
    done += executor -> order.max(done.getOrElse(executor, order))
  }

  /** The last order that an executor is known to have carried out. */
  def lastDone(executor: String): Option[Long] = synchronized(done.get(executor))

  /** Nothing counts that an executor has reported, as its readers are gone. False where more is known by now than that.
    *
    * @param lastDone when they were found to be gone
    */
  def discard(executor: String, lastDone: Option[Long]): Boolean = synchronized {
    val isLatest = done.get(executor) == lastDone
    if (isLatest) {
      byExecutor.get(executor).foreach(countGone)
      byExecutor -= executor
      done -= executor
    }
    isLatest
  }

  /** Changes with news. */
  def news: Long = synchronized(changes)

  def now: Map[String, Reported] = synchronized(byExecutor)

  /** What readers had done that are no longer in [[now]]. */
  def ofGone: ReaderTotals = synchronized(gone)

  /** Executors that are gone don't come back, and neither do shards that are read to their ends.
    *
    * @param isRead whether a shard is to be read, by any executor
    */
  def keepOnly(executors: Set[String], isRead: ShardKey => Boolean): Unit = synchronized {
    val (present, lost) = byExecutor.partition { case (id, _) => executors(id) }
    lost.valuesIterator.foreach(countGone)
    byExecutor = present.map { case (id, reported) => id -> reported.countingOnly(isRead) }
    if (!done.keysIterator.forall(executors)) done = done.filter { case (id, _) => executors(id) }
  }

  private def countGone(reported: Reported): Unit = gone = gone.and(reported.totals.ended)

  /** Until there are news after those that were seen, but not for longer than that. */
  def await(seen: Long, atMost: FiniteDuration): Unit =
    synchronized(runtime.waits.until(this, atMost)(changes != seen)): Unit

  /** Wakes the query's thread if it waits for news. */
  def signal(): Unit = synchronized {
    changes += 1
    runtime.waits.signal(this)
  }
}

object ReaderReports {

  /** A status and when it was so.
    *
    * @param atNanos by the driver's clock, or earlier than that
    * @param applied the last order that was carried out by then
    */
  final case class ReportedStatus(status: ReaderStatus, atNanos: Long, applied: Long) {

    /** @param committed the last order that had records dropped: that a reader waited for memory before doesn't count */
    def now(nowNanos: Long, committed: Long): ReaderStatus = {
      val later = status.later((nowNanos - atNanos).max(0L) / 1000000)
      if (applied < committed) later.copy(starved = false) else later
    }
  }

  /** @param pool    identifies this generation of readers in the executor
    * @param number  of the last report
    * @param applied the last order that was carried out when it was made
    */
  final case class Reported(
      pool: Long,
      number: Long,
      applied: Long,
      statuses: Map[ShardKey, ReportedStatus],
      counts: Map[ShardKey, ShardCounts],
      totals: ReaderTotals
  ) {
    def and(report: ReaderReport): Option[Reported] =
      if (report.pool == pool && report.number <= number) Some(this)       // It was late.
      else if (report.pool != pool && report.applied < applied) Some(this) // Of readers that were there before.
      else if (report.isOfAllReaders) Reported.of(report)
      else if (report.pool != pool || report.number != number + 1) None
      else Some(Reported.after(statuses, counts, report))

    def countingOnly(isRead: ShardKey => Boolean): Reported =
      if (counts.keysIterator.forall(isRead)) this
      else copy(counts = counts.filter { case (shard, _) => isRead(shard) })
  }

  object Reported {
    def of(report: ReaderReport): Option[Reported] =
      Option.when(report.isOfAllReaders)(after(Map.empty, Map.empty, report))

    private def after(
        statuses: Map[ShardKey, ReportedStatus],
        counts: Map[ShardKey, ShardCounts],
        report: ReaderReport
    ) = Reported(
      report.pool,
      report.number,
      report.applied,
      statuses -- report.gone ++
        report.statuses.iterator.map(status => status.shard -> ReportedStatus(status, report.atNanos, report.applied)),
      counts -- report.gone ++ report.counts,
      report.totals
    )
  }
}
