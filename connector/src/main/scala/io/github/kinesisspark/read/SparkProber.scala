package io.github.kinesisspark.read

import scala.concurrent.duration._
import scala.reflect.ClassTag
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.kinesisspark.ClusterExecutors
import org.slf4j.LoggerFactory

import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.shard._

/** A Spark job with one task for each executor, placed by Spark's own scheduling; in local mode a call.
  *
  * Placing is preferred, never forced. A task that lands elsewhere answers nothing, and its shards do not move this time.
  */
final class SparkProber(sc: SparkContext) extends Prober {
  private val log = LoggerFactory.getLogger(classOf[SparkProber])

  override def executors(): Set[ExecutorId] = {
    if (alive.isEmpty) sc.makeRDD(Seq(0), 1).count()
    alive
  }

  /** @see [[https://spark.apache.org/docs/latest/job-scheduling.html#dynamic-resource-allocation Dynamic Resource Allocation]] */
  override val idleTimeout: Option[FiniteDuration] = {
    val conf = sc.getConf
    Option.when(!sc.isLocal && conf.getBoolean("spark.dynamicAllocation.enabled", false)) {
      conf.getTimeAsSeconds("spark.dynamicAllocation.executorIdleTimeout", "60s").seconds
    }
  }

  // Not Spark's default parallelism, which people set for shuffles.
  override def cores: Int = ClusterExecutors.slots(sc).max(1)

  override def coresOfAnExecutor: Int = math.max(1, cores / alive.size.max(1))

  // Where executors come and go, Spark adds one only if tasks wait for a core.
  override def tasksOfAnExecutor: Int = if (idleTimeout.isDefined) coresOfAnExecutor * 2 else coresOfAnExecutor

  override def isFree: Boolean = sc.isLocal

  override def probe(requests: Vector[(ExecutorId, ProbeRequest)]): Vector[(ExecutorId, ProbeAnswer)] =
    onEach(requests, "Kinesis: how far are the shard readers")(ShardReaderPools.answer(_: ProbeRequest))

  override def cut(requests: Vector[(ExecutorId, CutRequest)]): Vector[(ExecutorId, CutAnswer)] =
    onEach(requests, "Kinesis: where to end the batch")(ShardReaderPools.answer(_: CutRequest))

  override def split(requests: Vector[(ExecutorId, SplitRequest)]): Vector[(ExecutorId, SplitAnswer)] =
    onEach(requests, "Kinesis: how to share the batch among tasks")(ShardReaderPools.answer(_: SplitRequest))

  override def release(source: String, executors: Iterable[ExecutorId]): Unit = {
    // In local mode the readers are here.
    ShardReaderPools.close(source)
    if (!sc.isLocal && !sc.isStopped && executors.nonEmpty) {
      // A thread of its own, which doesn't belong to the query's job group: that has been cancelled.
      val releasing = new Thread(() => closeOn(source, executors), "kinesis-release-readers")
      releasing.setDaemon(true)
      releasing.start()
      releasing.join(ReleaseTime.toMillis)
    }
  }

  private def alive = ClusterExecutors.alive(sc).iterator.map { case (host, id) => ExecutorId(host, id) }.toSet

  private def closeOn(source: String, executors: Iterable[ExecutorId]): Unit =
    try {
      sc.clearJobGroup()
      sc.makeRDD(executors.toVector.map(e => source -> Seq(e.location))).foreach(ShardReaderPools.close)
    } catch {
      case NonFatal(e) => log.debug("the readers of {} close at the end of their lease: {}", source, e.getMessage, "")
    }

  private def onEach[Q <: Serializable: ClassTag, A](requests: Vector[(ExecutorId, Q)], description: String)(
      answer: Q => Option[A]
  ): Vector[(ExecutorId, A)] =
    if (requests.isEmpty) Vector.empty
    // In local mode the readers are here, and a job would cost more than their answer.
    else if (sc.isLocal) requests.flatMap { case (executor, request) => answer(request).map(executor -> _) }
    else {
      val before = sc.getLocalProperty(JobDescription)
      sc.setJobDescription(description)
      try {
        val placed  = sc.makeRDD(requests.map { case (executor, request) => request -> Seq(executor.location) })
        val answers = sc.runJob(placed, (mine: Iterator[Q]) => mine.map(answer).toArray)
        requests.map(_._1).zip(answers.map(_.head)).collect { case (executor, Some(a)) => executor -> a }
      } finally sc.setLocalProperty(JobDescription, before)
    }

  private val JobDescription = "spark.job.description"
  private val ReleaseTime    = 10.seconds
}
