package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, TrimHorizon}
import io.github.kinesisspark.read.plan.{ExecutorId, ReaderFailure, ReaderStatus}
import io.github.kinesisspark.read.reader.{Liveness, ReadOrder, ReaderReport, ReaderTotals}
import io.github.kinesisspark.runtime.Runtime

/** A channel to executors that do nothing by themselves: a test says which executors there are, and what they report. */
private[coordinator] class StubChannel(implicit runtime: Runtime) extends ExecutorChannel {
  var present    = ExecutorsNow.all(Set.empty)
  var cores: Int = 1

  override val liveness: Liveness                  = Liveness.Heartbeats
  override val shared: SharedOrders                = new SharedOrders
  override val idleTimeout: Option[FiniteDuration] = None
  override val coresOfAnExecutor: Int              = 1
  override val tasksOfAnExecutor: Int              = 1
  override val reportPause: FiniteDuration         = 5.millis

  override def executors(): ExecutorsNow                                 = present
  override def sendOrders(orders: Vector[(ExecutorId, ReadOrder)]): Unit = ()
  override def refusal(): Option[String]                                 = None
  override def release(executors: Iterable[ExecutorId]): Unit            = ()

  /** As the readers of an executor report all of themselves.
    *
    * @param applied the last order that it has carried out
    * @param number  of the report
    */
  def report(executor: ExecutorId, applied: Long, number: Long, totals: ReaderTotals = ReaderTotals.none)(
      statuses: ReaderStatus*
  ): Unit = reports.accept(
    ReaderReport(
      executor.id,
      "source",
      pool = 1,
      number,
      isOfAllReaders = true,
      applied,
      atNanos = runtime.clock.nanos(),
      statuses.toVector,
      gone = Vector.empty,
      counts = Vector.empty,
      hasNews = true,
      totals
    )
  ): Unit
}

private[coordinator] object StubChannel {

  /** Of a reader that has read so many records from its shard's beginning, and knows of no more. */
  def status(shard: ShardKey, records: Long, failure: Option[ReaderFailure] = None): ReaderStatus =
    emptyStatus(shard).copy(
      position = if (records == 0) TrimHorizon else AfterSequenceNumber(number(records)),
      records = records,
      millisBehind = Some(0),
      millisSinceAnswer = Some(0),
      failure = failure
    )
}
