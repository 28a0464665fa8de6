package io.github.kinesisspark.read.coordinator

import scala.collection.concurrent.TrieMap
import scala.concurrent.duration._

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.{ExecutorId, ReaderStatus}
import io.github.kinesisspark.read.reader.{OrderAnswer, ReaderReport, ReaderTotals, ShardCounts}
import io.github.kinesisspark.runtime.Runtime
import io.github.kinesisspark.read.coordinator.ReaderReports._

/** What the readers of one source have reported: the latest of each executor. The query's thread reads it and waits for news; reports come on any
  * thread.
  */
final class ReaderReports(implicit runtime: Runtime) {
  // All below is guarded by `this`.
  private var byExecutor = Map.empty[String, Reported]
  private var changes    = 0L
  private var undone     = Map.empty[String, Long]
  private var failures   = Map.empty[String, OrderFailure]
  private var epochs     = Map.empty[String, Long]
  private var done       = Map.empty[String, Long]
  private var meanwhile  = Option.empty[Meanwhile]

  /** Whether the report was used. A report of changes must follow the last one; otherwise the executor sends one of all readers. */
  def accept(report: ReaderReport): Boolean = synchronized {
    val before = byExecutor.get(report.executorId)
    val after  = before.fold(Reported.of(report))(_.and(report))
    val isUsed = after.isDefined
    after.foreach { now =>
      byExecutor += report.executorId -> now
      recordApplied(report.executorId, report.applied)
      if (report.hasNews) signal()
    }
    isUsed
  }

  /** An executor's answer to an order, if there was one. Where this order or one before it may not have been carried out, one with all shards follows. */
  def answered(executor: String, order: Long, answer: Option[OrderAnswer]): Unit = synchronized {
    if (answer.exists(a => a.isNext && a.report.forall(accept))) recordApplied(executor, order)
    else notDone(executor, order)
  }

  /** An order was not carried out, or not answered. */
  def failed(executor: String, order: Long, failure: OrderFailure): Unit = synchronized {
    failures += executor -> failure
    notDone(executor, order)
  }

  private def recordApplied(executor: String, order: Long): Unit =
    done += executor -> order.max(done.getOrElse(executor, order))

  /** Whether all orders up to that one are known to have been carried out. */
  def isDone(executor: String, order: Long): Boolean = synchronized(done.get(executor).exists(_ >= order))

  /** The executors that have shards to read from now on, each with the epoch of its shards. */
  def assign(now: Map[String, Long]): Unit = synchronized { epochs = now }

  /** What the driver believes of an executor that has shards of the source. */
  def expected(executor: String): Option[Expected] = synchronized {
    epochs.get(executor).map(Expected(_, done.get(executor)))
  }

  /** Until the query's thread takes its orders back, at the next planning, the thread that finds readers missing sends their orders again.
    *
    * @param send doesn't wait
    */
  def leave(orders: OrdersMeanwhile)(send: Vector[OrdersMeanwhile.Sent] => Unit): Unit = synchronized {
    meanwhile = Some(Meanwhile(orders, send))
  }

  /** From now on the query's thread alone sends orders. Returns all that is ordered by now, if orders were left to other threads. */
  def takeBack(): Option[OrdersMeanwhile] = synchronized {
    val left = meanwhile
    meanwhile = None
    left.map(_.orders)
  }

  /** The executors that have shards, while the query's thread sends no orders; none otherwise. */
  def unattended: Set[ExecutorId] = synchronized(meanwhile.fold(Set.empty[ExecutorId])(_.orders.reading))

  /** Executors don't answer. */
  def lost(executors: Set[ExecutorId], others: Set[ExecutorId]): Unit =
    orderedMeanwhile(_.without(executors, others)).foreach(_())

  /** Changes the orders, once they know what may not have been carried out, and returns what sends the change, if there is one. */
  private def orderedMeanwhile(
      change: OrdersMeanwhile => Option[(OrdersMeanwhile, Vector[OrdersMeanwhile.Sent])]
  ): Option[() => Unit] = synchronized {
    meanwhile = meanwhile.map(left => left.copy(orders = left.orders.undone(takeUndone())))
    for {
      left        <- meanwhile
      (now, sent) <- change(left.orders)
    } yield {
      meanwhile = Some(left.copy(orders = now))
      // Before the orders are sent, as in OrderSender.
      epochs = now.epochs
      () => left.send(sent)
    }
  }

  /** The answer to a heartbeat.
    *
    * @param expected when it was sent
    * @param applied  the last order that the executor's readers have carried out, if there are any
    */
  def found(executor: String, expected: Expected, applied: Option[Long]): Unit =
    missing(executor, expected, applied).foreach(_())

  /** What sends the order that is due, where the query's thread doesn't. */
  private def missing(executor: String, expected: Expected, applied: Option[Long]) = synchronized {
    if (expected.isThere(applied)) {
      applied.foreach(recordApplied(executor, _))
      orderedMeanwhile(_.repeated(executor, applied.getOrElse(0L)))
    } else if (done.get(executor) != expected.done) None
    else {
      byExecutor -= executor
      done -= executor
      val due = orderedMeanwhile(_.renewed(executor))
      if (due.isEmpty) expected.done.foreach(notDone(executor, _))
      due
    }
  }

  private def notDone(executor: String, order: Long): Unit = synchronized {
    undone += executor -> order.max(undone.getOrElse(executor, order))
    signal()
  }

  /** Changes with news. */
  def news: Long = synchronized(changes)

  def now: Map[String, Reported] = synchronized(byExecutor)

  /** Of executors that did not carry out an order since the last call. */
  def takeFailures(): Map[String, OrderFailure] = synchronized {
    val all = failures
    failures = Map.empty
    all
  }

  /** The last order of each executor that may not have been carried out. */
  def takeUndone(): Map[String, Long] = synchronized {
    val all = undone
    undone = Map.empty
    all
  }

  /** Executors that are gone don't come back. */
  def keepOnly(executors: Set[String]): Unit = synchronized {
    if (!byExecutor.keysIterator.forall(executors)) byExecutor = byExecutor.filter { case (id, _) => executors(id) }
    if (!done.keysIterator.forall(executors)) done = done.filter { case (id, _) => executors(id) }
  }

  /** Until there are news after those that were seen, but not for longer than that. */
  def await(seen: Long, atMost: FiniteDuration): Unit =
    synchronized(runtime.waits.until(this, atMost)(changes != seen)): Unit

  private def signal(): Unit = {
    changes += 1
    runtime.waits.signal(this)
  }
}

/** Those of all sources whose queries run in one driver. */
final class ReportsBySource(implicit runtime: Runtime) {
  private val sources = TrieMap.empty[String, ReaderReports]

  def of(source: String): ReaderReports = sources.getOrElseUpdate(source, new ReaderReports)

  /** None once the query has ended. */
  def get(source: String): Option[ReaderReports] = sources.get(source)

  /** False, too, where the query has ended. */
  def accept(report: ReaderReport): Boolean = get(report.sourceId).exists(_.accept(report))

  def remove(source: String): Unit = sources.remove(source): Unit
}

object ReaderReports {

  /** What the driver believes of the readers of one executor.
    *
    * @param epoch the last order that changed which shards they read
    * @param done  the last order that they are known to have carried out
    */
  final case class Expected(epoch: Long, done: Option[Long]) {

    /** @param applied the last order that the executor has carried out, as it says; None where it has no such readers */
    def isThere(applied: Option[Long]): Boolean = done.forall(known => applied.exists(_ >= known))
  }

  private final case class Meanwhile(orders: OrdersMeanwhile, send: Vector[OrdersMeanwhile.Sent] => Unit)

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
      else
        Some(
          Reported(
            pool,
            report.number,
            report.applied,
            statuses -- report.gone ++ Reported.statusesOf(report),
            counts -- report.gone ++ report.counts,
            report.totals
          )
        )
  }

  object Reported {
    def of(report: ReaderReport): Option[Reported] =
      if (!report.isOfAllReaders) None
      else
        Some(
          Reported(
            report.pool,
            report.number,
            report.applied,
            statusesOf(report).toMap,
            report.counts.toMap,
            report.totals
          )
        )

    private def statusesOf(report: ReaderReport) =
      report.statuses.iterator.map(status => status.shard -> ReportedStatus(status, report.atNanos, report.applied))
  }
}
