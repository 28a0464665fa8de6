package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._
import scala.util.{Failure, Success, Try}

import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{Liveness, OrderAnswer, ReadOrder, ReleaseRequest}

/** On a cluster executors are reached through Spark's RPC, which takes no task slot and no job; where that can't be had, by jobs. */
private[kinesisspark] final class ClusterChannel(cluster: Cluster, source: String, driver: DriverRuntime)
    extends ExecutorChannel {
  import ClusterChannel._
  import driver.runtime

  // On the query's own thread, once it plans: a source that was only made leaves nothing behind.
  private lazy val endpoint = Option.when(cluster.hasChannel)(cluster).flatMap(driver.endpoint)
  private lazy val session  = cluster.session
  private var health        = ExecutorHealth.unknown
  private var known         = ExecutorsNow.all(Set.empty)
  private var isOpen        = false
  private var lookedAt      = 0L

  override def executors(): ExecutorsNow = {
    val now = runtime.clock.nanos()
    if (!isOpen || now - lookedAt > Look.toNanos) {
      look()
      lookedAt = now
    }
    known
  }

  private def look(): Unit = {
    if (!isOpen) endpoint.foreach(_.keep(source, session))
    isOpen = true
    val now     = cluster.executors()
    val all     = now.iterator.map(_.id).toSet
    val reached = endpoint.fold(all)(_.answering(now, session))
    health = health.look(now, runtime.clock.nanos())
    if (connected.isDefined) known = ExecutorsNow(health.usable(now, reached), reached, all)
    else {
      // A job's task would wait for an executor that isn't usable, and then run elsewhere.
      val usable = health.usable(now, all)
      known = ExecutorsNow(usable, usable, all)
    }
  }

  override val idleTimeout: Option[FiniteDuration] = cluster.idleTimeout

  override def cores: Int = cluster.slots.max(1)

  override def coresOfAnExecutor: Int = math.max(1, cores / known.present.size.max(1))

  // Where executors come and go, Spark adds one only if tasks wait for a core.
  override def tasksOfAnExecutor: Int = if (idleTimeout.isDefined) coresOfAnExecutor * 2 else coresOfAnExecutor

  override def liveness: Liveness = if (connected.isDefined) Liveness.Heartbeats else Liveness.Orders

  override lazy val reports: ReaderReports = driver.reports.of(source)

  // A driver of a hundred executors gets as many reports as one of ten.
  override def reportPause: FiniteDuration = (known.present.size * 500).micros.max(ShortestPause)

  override def order(orders: Vector[(ExecutorId, ReadOrder)]): Unit = connected match {
    case Some(channel) =>
      orders.foreach { case (executor, order) => channel.tell(executor, order, session)(answered(executor, order)) }
    case None =>
      cluster.ask(orders).zip(orders).foreach { case (answer, (executor, order)) => answered(executor, order)(answer) }
  }

  private def answered(executor: ExecutorId, order: ReadOrder)(answer: Try[Option[OrderAnswer]]): Unit = answer match {
    case Success(answer)        => reports.answered(executor.id, order.number, answer)
    case Failure(_: Unanswered) => reports.failed(executor.id, order.number, OrderFailure.Unanswered)
    case Failure(cause)         => reports.failed(executor.id, order.number, OrderFailure.Thrown(cause))
  }

  override def release(executors: Iterable[ExecutorId]): Unit = if (isOpen) {
    driver.reports.remove(source)
    endpoint.foreach(_.forget(source))
    val requests = executors.toVector.map(e => e -> ReleaseRequest(e.id, source))
    if (!cluster.isStopped && requests.nonEmpty)
      connected.fold(cluster.release(requests))(_.release(requests, session, Cluster.ReleaseTime))
  }

  private def connected = endpoint.filterNot(_.isRefused(session))
}

private object ClusterChannel {

  /** Reports are a few and full rather than many and small. */
  private val ShortestPause = 5.millis

  /** Each look asks Spark's own threads, which takes half a millisecond of a planning. Executors come and go less often. */
  private val Look = 200.millis
}
