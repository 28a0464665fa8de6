package io.github.kinesisspark.read.coordinator

import scala.concurrent.Future
import scala.concurrent.duration._

import org.apache.spark.SparkContext
import org.apache.spark.kinesisspark.ClusterExecutors

import io.github.kinesisspark.jar.{ConnectorJar, FromDriver}
import io.github.kinesisspark.read.plan.ExecutorId

/** What the driver asks of a cluster: its executors, and the job that opens their ends of the channel. Two that are equal share the driver's end. */
private[kinesisspark] trait Cluster {

  /** The registered executors. */
  def registered(): Vector[ExecutorHealth.ExecutorState]

  /** The registered executors. If there are none (dynamic allocation), waits for the first. */
  def executors(): Vector[ExecutorHealth.ExecutorState]

  /** How long an executor may be idle before it is removed; nothing where executors stay. */
  def idleTimeout: Option[FiniteDuration]

  /** As many tasks as can run at once. */
  def slots: Int

  /** As [[org.apache.spark.kinesisspark.ClusterExecutors.session]], of the calling thread. */
  def session: String

  def isStopped: Boolean

  /** Has executors open their ends, which introduce themselves to the driver's, and doesn't wait.
    *
    * @param opened called with each executor's result, as [[OpenEnd]] returns it
    */
  def openEnds(driver: String, session: String, executors: Vector[ExecutorId])(
      opened: Either[String, Option[String]] => Unit
  ): Future[Unit]
}

private[coordinator] final case class SparkCluster(sc: SparkContext) extends Cluster {
  import SparkCluster._

  override def executors(): Vector[ExecutorHealth.ExecutorState] = {
    val now = registered()
    if (now.nonEmpty) now
    else {
      sc.makeRDD(Seq(0), 1).count()
      registered()
    }
  }

  override def registered(): Vector[ExecutorHealth.ExecutorState] = ClusterExecutors
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

  override def session: String    = ClusterExecutors.session
  override def isStopped: Boolean = sc.isStopped

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

  /** Jobs that this thread starts in `work` have that description. */
  private def described[A](description: String)(work: => A): A = {
    val before = sc.getLocalProperty(JobDescription)
    sc.setJobDescription(description)
    try work
    finally sc.setLocalProperty(JobDescription, before)
  }
}

private[coordinator] object SparkCluster {
  private val JobDescription = "spark.job.description"
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
