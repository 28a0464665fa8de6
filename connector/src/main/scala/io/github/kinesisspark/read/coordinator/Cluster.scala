package io.github.kinesisspark.read.coordinator

import scala.concurrent.{Future, Promise}
import scala.concurrent.duration._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.kinesisspark.ClusterExecutors
import org.slf4j.LoggerFactory

import io.github.kinesisspark.{ConnectorJar, FromDriver}
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{ReaderRequest, ReleaseRequest}
import io.github.kinesisspark.runtime.Runtime

/** What the driver asks of a cluster: its executors, and jobs that reach them. Two that are equal share their ends of the channel. */
private[kinesisspark] trait Cluster {

  /** The registered executors. If there are none (dynamic allocation), waits for the first. */
  def executors(): Vector[ExecutorHealth.ExecutorState]

  /** How long an executor may be idle before it is removed; nothing where executors stay. */
  def idleTimeout: Option[FiniteDuration]

  /** As many tasks as can run at once. */
  def slots: Int

  /** As [[org.apache.spark.kinesisspark.ClusterExecutors.session]], of the calling thread. */
  def session: String

  def isStopped: Boolean

  /** Whether executors may open ends of a channel. */
  def hasChannel: Boolean

  /** Has executors open their ends, which introduce themselves to the driver's, and doesn't wait.
    *
    * @param opened called with each executor's result, as [[OpenEnd]] returns it
    */
  def openEnds(driver: String, session: String, executors: Vector[ExecutorId])(
      opened: Either[String, Option[String]] => Unit
  ): Future[Unit]

  /** Requests without a channel: one job, with a task for each executor. Placing is preferred, never forced. A task that runs elsewhere answers
    * nothing, and its shards do not move this time.
    *
    * @return in the order of the requests: the answer, none, or what was thrown there
    */
  def ask[A](requests: Vector[(ExecutorId, ReaderRequest[A])]): Vector[Try[Option[A]]]

  /** Asks as `ask` does, for [[Cluster.ReleaseTime]] at most. A failure is ignored: an executor that is gone has no readers. */
  def release(requests: Vector[(ExecutorId, ReleaseRequest)]): Unit
}

private[kinesisspark] object Cluster {
  val ReleaseTime: FiniteDuration = 10.seconds
}

private[coordinator] final case class SparkCluster(sc: SparkContext)(implicit runtime: Runtime) extends Cluster {
  import SparkCluster._

  override def executors(): Vector[ExecutorHealth.ExecutorState] = {
    val now = states()
    if (now.nonEmpty) now
    else {
      sc.makeRDD(Seq(0), 1).count()
      states()
    }
  }

  private def states() = ClusterExecutors
    .alive(sc)
    .map(e => ExecutorHealth.ExecutorState(ExecutorId(e.host, e.id), e.isExcluded, e.isLeaving, e.freeSlots))

  /** @see [[https://spark.apache.org/docs/latest/job-scheduling.html#dynamic-resource-allocation Dynamic Resource Allocation]] */
  override def idleTimeout: Option[FiniteDuration] = {
    val conf = sc.getConf
    Option.when(conf.getBoolean("spark.dynamicAllocation.enabled", false)) {
      conf.getTimeAsSeconds("spark.dynamicAllocation.executorIdleTimeout", "60s").seconds
    }
  }

  // Not Spark's default parallelism, which people set for shuffles.
  override def slots: Int = ClusterExecutors.slots(sc)

  override def session: String     = ClusterExecutors.session
  override def isStopped: Boolean  = sc.isStopped
  override def hasChannel: Boolean = !sc.getConf.getBoolean(JobsAlone, false)

  override def openEnds(driver: String, session: String, executors: Vector[ExecutorId])(
      opened: Either[String, Option[String]] => Unit
  ): Future[Unit] = described("Kinesis: connect the executors") {
    val rdd = sc.makeRDD(executors.map(e => e.id -> Seq(e.location)))
    sc.submitJob(
      rdd,
      new OpenEnd(ConnectorJar.name, ConnectorJar.place, driver, session),
      rdd.partitions.indices,
      (_: Int, answer: Either[String, Option[String]]) => opened(answer),
      ()
    )
  }

  override def ask[A](requests: Vector[(ExecutorId, ReaderRequest[A])]): Vector[Try[Option[A]]] =
    if (requests.isEmpty) Vector.empty
    else
      described("Kinesis: request to the shard readers") {
        val placed = sc.makeRDD(requests.map { case (executor, request) =>
          (FromDriver(request): AnyRef) -> Seq(executor.location)
        })
        val answers = sc.runJob(placed, answerAll _)
        answers.iterator.map(answer => Reply.read[A](answer.head)).toVector
      }

  override def release(requests: Vector[(ExecutorId, ReleaseRequest)]): Unit = {
    val end = Promise[Unit]()
    // A thread of its own, which doesn't belong to the query's job group: that has been cancelled.
    runtime.workers.start("kinesis-release-readers") {
      end.complete(Try(releaseNow(requests)))
    }
    runtime.waits.isDone(end.future, Cluster.ReleaseTime): Unit
  }

  private def releaseNow(requests: Vector[(ExecutorId, ReleaseRequest)]): Unit =
    try {
      sc.clearJobGroup()
      ask(requests): Unit
    } catch {
      case NonFatal(e) => log.debug("The readers close at the end of their lease: {}", e.getMessage)
    }

  /** Jobs that this thread starts in `work` have that description. */
  private def described[A](description: String)(work: => A): A = {
    val before = sc.getLocalProperty(JobDescription)
    sc.setJobDescription(description)
    try work
    finally sc.setLocalProperty(JobDescription, before)
  }
}

private[coordinator] object SparkCluster {
  private val log = LoggerFactory.getLogger(classOf[SparkCluster])

  /** For tests: no RPC. */
  private val JobsAlone = "spark.kinesis.internal.jobsAlone"

  private val JobDescription = "spark.job.description"

  /** Runs in a task, where each [[FromDriver]] has become its request. */
  private def answerAll(requests: Iterator[AnyRef]): Array[Array[Byte]] =
    requests.collect { case request: ReaderRequest[_] => Reply.of(ExecutorRuntime.ofJvm.pools.answer(request)) }.toArray
}

/** Opens the executor's end of the channel, in a task. The serialized form is the same in all versions of the connector.
  *
  * Left: why an executor with another version opens none. Right: why the end can't be opened, or nothing.
  */
@SerialVersionUID(1L)
private[coordinator] final class OpenEnd(jar: String, place: String, driver: String, session: String)
    extends (Iterator[String] => Either[String, Option[String]])
    with Serializable {
  override def apply(executors: Iterator[String]): Either[String, Option[String]] =
    FromDriver.refusal(jar, place).toLeft(ExecutorRuntime.ofJvm.endpoint.open(driver, session))
}
