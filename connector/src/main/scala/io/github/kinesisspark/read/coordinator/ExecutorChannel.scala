package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.apache.spark.SparkContext
import org.apache.spark.kinesisspark.ClusterExecutors

import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{ReaderRequest, ShardReaderPools}

/** The driver's way to the shard readers of one source. Used by the query's own thread only. */
trait ExecutorChannel {

  /** The executors now. Where there are none (dynamic allocation), waits for the first. */
  def executors(): ExecutorsNow

  /** How long an executor may be idle before Spark removes it; nothing where executors stay. */
  def idleTimeout: Option[FiniteDuration]

  /** As many tasks as can run at once on all executors. */
  def cores: Int

  def coresOfAnExecutor: Int

  /** How many tasks of one batch are worth having there. */
  def tasksOfAnExecutor: Int

  /** How long readers that don't hear of the query go on. */
  def lease: FiniteDuration

  /** The answers of those who answer within seconds. */
  def ask[A](requests: Vector[(ExecutorId, ReaderRequest[A])]): Vector[(ExecutorId, A)]

  /** Changes when a reader has had news since its last answer. */
  def news: Long

  /** Waits until there are news after those that were seen, but not for longer than that. */
  def awaitNews(seen: Long, atMost: FiniteDuration): Unit

  /** Closes the readers now instead of at the end of their lease; gives up waiting for that after a while. */
  def release(executors: Iterable[ExecutorId]): Unit
}

object ExecutorChannel {

  /** @param source as in the requests */
  def of(sc: SparkContext, source: String): ExecutorChannel =
    if (sc.isLocal) new LocalChannel(sc, source) else new ClusterChannel(sc, source)
}

/** @param usable    are given shards to read
  * @param answering can be asked
  * @param present   are registered with Spark
  */
final case class ExecutorsNow(usable: Set[ExecutorId], answering: Set[ExecutorId], present: Set[ExecutorId])

object ExecutorsNow {
  def all(executors: Set[ExecutorId]): ExecutorsNow = ExecutorsNow(executors, executors, executors)
}

/** In local mode the readers are in the driver's JVM, and are called. */
private final class LocalChannel(sc: SparkContext, source: String) extends ExecutorChannel {
  private lazy val bell = {
    ShardReaderPools.onNews(NewsBell.ring)
    NewsBell.of(source)
  }

  override def executors(): ExecutorsNow =
    ExecutorsNow.all(ClusterExecutors.alive(sc).iterator.map(e => ExecutorId(e.host, e.id)).toSet)

  override val idleTimeout: Option[FiniteDuration] = None

  override def cores: Int             = ClusterExecutors.slots(sc).max(1)
  override def coresOfAnExecutor: Int = cores
  override def tasksOfAnExecutor: Int = cores

  /** Nobody but the query's end closes them: no network and no other process lies between them and it. */
  override val lease: FiniteDuration = 365.days

  override def ask[A](requests: Vector[(ExecutorId, ReaderRequest[A])]): Vector[(ExecutorId, A)] =
    requests.flatMap { case (executor, request) => ShardReaderPools.answer(request).map(executor -> _) }

  override def news: Long = bell.rung

  override def awaitNews(seen: Long, atMost: FiniteDuration): Unit = bell.await(seen, atMost)

  override def release(executors: Iterable[ExecutorId]): Unit = {
    NewsBell.remove(source)
    ShardReaderPools.close(source)
  }
}
