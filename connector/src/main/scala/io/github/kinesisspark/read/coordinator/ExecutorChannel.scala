package io.github.kinesisspark.read.coordinator

import scala.concurrent.Future
import scala.concurrent.duration._

import org.apache.spark.SparkContext
import org.apache.spark.kinesisspark.ClusterExecutors

import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{Liveness, ReadOrder}

/** The driver's way to the shard readers of one source. Used by the query's own thread only. */
trait ExecutorChannel {

  /** The executors now. Where there are none (dynamic allocation), waits for the first, unless none is allowed. */
  def executors(): ExecutorsNow

  /** Whether the query can do without executors for now: where Spark has removed all of them (dynamic allocation), none is started. */
  def allowNone(isAllowed: Boolean): Unit = ()

  /** Whether batches need all cores that they count on as they begin: no job of the channel's own is under way then. Spark 4.3 ends a real-time query with
    * state whose stages don't find cores beside other jobs at that moment.
    */
  def keepFree(isNeeded: Boolean): Unit = ()

  /** How long an executor may be idle before Spark removes it; nothing where executors stay. */
  def idleTimeout: Option[FiniteDuration]

  /** As many tasks as can run at once on all executors. */
  def cores: Int

  def coresOfAnExecutor: Int

  /** How many tasks of one batch are worth having there. */
  def tasksOfAnExecutor: Int

  /** How readers know that the driver lives. */
  def liveness: Liveness

  /** Sends orders. What becomes of them arrives in [[shared]]. */
  def sendOrders(orders: Vector[(ExecutorId, ReadOrder)]): Unit

  /** The answers to the orders, and the reports of the readers. */
  def shared: SharedOrders

  /** What the readers have reported. */
  final def reports: ReaderReports = shared.reports

  /** Why no executor can be reached, so that there are no readers: none can open its end of the channel. None where one can. */
  def refusal(): Option[String]

  /** Between two reports of one executor, at least. */
  def reportPause: FiniteDuration

  /** Closes the readers now instead of at the end of their lease; gives up waiting for that after a while. */
  def release(executors: Iterable[ExecutorId]): Unit
}

object ExecutorChannel {

  /** @param sourceId as in the requests */
  def of(sc: SparkContext, sourceId: String, driver: DriverRuntime): ExecutorChannel =
    if (sc.isLocal) new LocalChannel(sc, sourceId, driver)
    else new ClusterChannel(SparkCluster(sc), sourceId, driver)
}

/** @param usable    are given shards to read
  * @param answering can be reached
  * @param present   are registered with Spark
  */
final case class ExecutorsNow(usable: Set[ExecutorId], answering: Set[ExecutorId], present: Set[ExecutorId])

object ExecutorsNow {
  def all(executors: Set[ExecutorId]): ExecutorsNow = ExecutorsNow(executors, executors, executors)
}

/** In local mode the readers are in the driver's JVM, and are called. */
private final class LocalChannel(sc: SparkContext, sourceId: String, driver: DriverRuntime) extends ExecutorChannel {
  override lazy val shared: SharedOrders = {
    driver.here.pools.reportBy(report => Future.successful(driver.orders.accept(report)))
    driver.orders.of(sourceId)
  }

  override val liveness: Liveness          = Liveness.SameProcess
  override val reportPause: FiniteDuration = 2.millis

  override def executors(): ExecutorsNow =
    ExecutorsNow.all(ClusterExecutors.alive(sc).iterator.map(e => ExecutorId(e.host, e.id)).toSet)

  override def refusal(): Option[String] = None

  override val idleTimeout: Option[FiniteDuration] = None

  override def cores: Int             = ClusterExecutors.slots(sc).max(1)
  override def coresOfAnExecutor: Int = cores
  override def tasksOfAnExecutor: Int = cores

  override def sendOrders(orders: Vector[(ExecutorId, ReadOrder)]): Unit = orders.foreach { case (executor, order) =>
    shared.answered(executor.id, order.number, driver.here.pools.answer(order))
  }

  override def release(executors: Iterable[ExecutorId]): Unit = {
    driver.orders.remove(sourceId)
    driver.here.pools.close(sourceId)
  }
}
