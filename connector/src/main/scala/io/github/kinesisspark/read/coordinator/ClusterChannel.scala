package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._
import scala.util.{Failure, Success, Try}

import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{Liveness, OrderAnswer, ReadOrder, ReleaseRequest}

/** On a cluster executors are reached through Spark's RPC, which takes no task slot and no job. */
private[kinesisspark] final class ClusterChannel(cluster: Cluster, sourceId: String, driver: DriverRuntime)
    extends ExecutorChannel {
  import ClusterChannel._
  import driver.runtime

  // On the query's own thread, once it plans: a source that was only made leaves nothing behind.
  private lazy val endpoint = driver.endpoint(cluster)
  private lazy val session  = cluster.session
  private var health        = ExecutorHealth.unknown
  private var known         = ExecutorsNow.all(Set.empty)
  private var isOpen        = false
  private var lookedAt      = 0L
  private var isNoneAllowed = false
  private var hasHadOne     = false
  private var keepsFree     = false

  override def allowNone(isAllowed: Boolean): Unit = isNoneAllowed = isAllowed

  override def keepFree(isNeeded: Boolean): Unit = keepsFree = isNeeded

  override def executors(): ExecutorsNow = {
    val now      = runtime.clock.nanos()
    val lacksOne = known.present.isEmpty && !isNoneAllowed
    if (!isOpen || lacksOne || now - lookedAt > Look.toNanos) {
      look()
      lookedAt = now
    }
    known
  }

  private def look(): Unit = {
    if (!isOpen) endpoint.foreach(_.keep(sourceId, session))
    isOpen = true
    val now =
      if (isNoneAllowed && hasHadOne && idleTimeout.isDefined) cluster.registered() else cluster.executors()
    hasHadOne ||= now.nonEmpty
    val reached = endpoint.fold(_ => Set.empty[ExecutorId], _.answering(now, session, keepsFree))
    health = health.look(now, runtime.clock.nanos())
    known = ExecutorsNow(health.usable(now, reached), reached, now.iterator.map(_.id).toSet)
  }

  override def refusal(): Option[String] = {
    executors(): Unit
    endpoint.fold(Some(_), _.refusal(session))
  }

  override val idleTimeout: Option[FiniteDuration] = cluster.idleTimeout

  override def cores: Int = cluster.slots.max(1)

  override def coresOfAnExecutor: Int = math.max(1, cores / known.present.size.max(1))

  // Where executors come and go, Spark adds one only if tasks wait for a core.
  override def tasksOfAnExecutor: Int = if (idleTimeout.isDefined) coresOfAnExecutor * 2 else coresOfAnExecutor

  override val liveness: Liveness = Liveness.Heartbeats

  override lazy val shared: SharedOrders = driver.orders.of(sourceId)

  // A driver of a hundred executors gets as many reports as one of ten.
  override def reportPause: FiniteDuration = (known.present.size * 500).micros.max(ShortestPause)

  override def sendOrders(orders: Vector[(ExecutorId, ReadOrder)]): Unit = for {
    channel           <- endpoint
    (executor, order) <- orders
  } channel.send(executor, order, session)(answered(executor, order))

  private def answered(executor: ExecutorId, order: ReadOrder)(answer: Try[Option[OrderAnswer]]): Unit = answer match {
    case Success(answer)        => shared.answered(executor.id, order.number, answer)
    case Failure(_: Unanswered) => shared.failed(executor.id, order.number, OrderFailure.Unanswered)
    case Failure(cause)         => shared.failed(executor.id, order.number, OrderFailure.Thrown(cause))
  }

  override def release(executors: Iterable[ExecutorId]): Unit = {
    // Also of a source that has never planned.
    driver.orders.remove(sourceId)
    if (isOpen) endpoint.foreach { channel =>
      if (!cluster.isStopped) channel.release(executors, ReleaseRequest(sourceId), session, ReleaseTime)
      channel.forget(sourceId)
    }
  }
}

private object ClusterChannel {

  /** Reports are a few and full rather than many and small. */
  private val ShortestPause = 5.millis

  /** Each look asks Spark's own threads, which takes half a millisecond of a planning. Executors come and go less often. */
  private val Look = 200.millis

  /** How long the end of a query waits for its readers to close. */
  private val ReleaseTime = 10.seconds
}
