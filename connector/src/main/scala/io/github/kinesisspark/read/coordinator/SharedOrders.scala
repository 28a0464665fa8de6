package io.github.kinesisspark.read.coordinator

import scala.collection.concurrent.TrieMap

import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{OrderAnswer, ReaderReport}
import io.github.kinesisspark.runtime.Runtime
import io.github.kinesisspark.read.coordinator.SharedOrders._

/** What the driver's threads share of the orders of one source: what became of them, which executors heartbeats name, and the orders themselves while the
  * query's thread sends none. One thread at a time sends orders: between [[handOver]] and [[takeBack]] the heartbeats' thread, otherwise the query's.
  */
final class SharedOrders(implicit runtime: Runtime) {
  val reports: ReaderReports = new ReaderReports

  // All below is guarded by `this`, which is taken before the lock of the reports.
  private var undone    = Map.empty[String, Long]
  private var failures  = Map.empty[String, OrderFailure]
  private var epochs    = Map.empty[String, Long]
  private var meanwhile = Option.empty[Meanwhile]

  /** An executor's answer to an order, if there was one. Where this order or one before it may not have been carried out, one with all shards follows. */
  def answered(executor: String, order: Long, answer: Option[OrderAnswer]): Unit = synchronized {
    if (answer.exists(a => a.isNext && a.report.forall(reports.accept))) reports.recordApplied(executor, order)
    else notDone(executor, order)
  }

  /** An order was not carried out, or not answered. */
  def failed(executor: String, order: Long, failure: OrderFailure): Unit = synchronized {
    failures += executor -> failure
    notDone(executor, order)
  }

  /** The executors that have shards to read from now on, each with the epoch of its shards. */
  def assign(now: Map[String, Long]): Unit = synchronized { epochs = now }

  /** What the driver believes of an executor that has shards of the source. */
  def expected(executor: String): Option[Expected] = synchronized {
    epochs.get(executor).map(Expected(_, reports.lastDone(executor)))
  }

  /** Until the query's thread takes its orders back, at the next planning, the thread that finds readers missing sends their orders again.
    *
    * @param send doesn't wait
    */
  def handOver(orders: OrdersMeanwhile)(send: Vector[OrdersMeanwhile.Sent] => Unit): Unit = synchronized {
    meanwhile = Some(Meanwhile(orders, send))
  }

  /** From now on the query's thread alone sends orders. Returns all that is ordered by now, if the orders were handed over. */
  def takeBack(): Option[OrdersMeanwhile] = synchronized {
    val handed = meanwhile
    meanwhile = None
    handed.map(_.orders)
  }

  /** The executors that have shards, while the query's thread sends no orders; none otherwise. */
  def unattended: Set[ExecutorId] = synchronized(meanwhile.fold(Set.empty[ExecutorId])(_.orders.reading))

  /** Executors don't answer, and others get their shards. */
  def reassign(from: Set[ExecutorId], to: Set[ExecutorId]): Unit =
    orderedMeanwhile(_.reassigned(from, to)).foreach(_())

  /** Changes the orders, once they know what may not have been carried out, and returns what sends the change, if there is one. */
  private def orderedMeanwhile(
      change: OrdersMeanwhile => Option[(OrdersMeanwhile, Vector[OrdersMeanwhile.Sent])]
  ): Option[() => Unit] = synchronized {
    meanwhile = meanwhile.map(handed => handed.copy(orders = handed.orders.undone(takeUndone())))
    for {
      handed      <- meanwhile
      (now, sent) <- change(handed.orders)
    } yield {
      meanwhile = Some(handed.copy(orders = now))
      // Before the orders are sent, as in OrderSender.
      epochs = now.epochs
      () => handed.send(sent)
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
      applied.foreach(reports.recordApplied(executor, _))
      orderedMeanwhile(_.repeated(executor, applied.getOrElse(0L)))
    } else if (!reports.discard(executor, expected.done)) None
    else {
      val due = orderedMeanwhile(_.renewed(executor))
      if (due.isEmpty) expected.done.foreach(notDone(executor, _))
      due
    }
  }

  /** Called with the lock. */
  private def notDone(executor: String, order: Long): Unit = {
    undone += executor -> order.max(undone.getOrElse(executor, order))
    reports.signal()
  }

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
}

/** Those of all sources whose queries run in one driver. */
final class OrdersBySource(implicit runtime: Runtime) {
  private val sources = TrieMap.empty[String, SharedOrders]

  def of(sourceId: String): SharedOrders = sources.getOrElseUpdate(sourceId, new SharedOrders)

  /** None once the query has ended. */
  def get(sourceId: String): Option[SharedOrders] = sources.get(sourceId)

  /** False, too, where the query has ended. */
  def accept(report: ReaderReport): Boolean = get(report.sourceId).exists(_.reports.accept(report))

  def remove(sourceId: String): Unit = sources.remove(sourceId): Unit
}

object SharedOrders {

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
}
