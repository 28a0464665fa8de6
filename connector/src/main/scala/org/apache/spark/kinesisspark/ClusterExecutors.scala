package org.apache.spark.kinesisspark

import org.apache.spark.{ExecutorAllocationClient, JobArtifactSet, SparkContext}
import org.apache.spark.scheduler.TaskSchedulerImpl

/** What Spark knows of its executors, and shows to nobody else. In local mode the driver is the one executor. */
object ClusterExecutors {

  /** An executor that is registered.
    *
    * @param isExcluded after failed tasks: Spark runs no task there
    * @param isLeaving  it is being decommissioned or removed
    * @param freeSlots  how many tasks could start there now; below 1 where all slots are taken
    */
  final case class Executor(host: String, id: String, isExcluded: Boolean, isLeaving: Boolean, freeSlots: Int)

  /** In local mode the driver's own entry is known; otherwise a thread of the driver's is asked, and answers in its turn.
    *
    * @throws java.lang.IllegalStateException where the context is stopped: Spark doesn't end its queries then, and one that plans another batch would
    *                                         write to the checkpoint beside the query that has taken its place
    */
  def alive(sc: SparkContext): Vector[Executor] = {
    sc.assertNotStopped()
    if (sc.isLocal) {
      val driver = sc.env.blockManager.blockManagerId
      Vector(Executor(driver.host, driver.executorId, isExcluded = false, isLeaving = false, 1))
    } else {
      val managers = sc.env.blockManager.master.getMemoryStatus.keys.toVector
      val known    = sc.statusStore.executorList(activeOnly = true).iterator.map(e => e.id -> e).toMap
      val running  = sc.taskScheduler match {
        case scheduler: TaskSchedulerImpl => scheduler.runningTasksByExecutors
        case _                            => Map.empty[String, Int]
      }
      managers.filterNot(_.isDriver).map { m =>
        val summary = known.get(m.executorId)
        Executor(
          m.host,
          m.executorId,
          isExcluded = summary.exists(_.isExcluded),
          isLeaving = isLeaving(sc, m.executorId),
          freeSlots = summary.fold(1)(_.maxTasks) - running.getOrElse(m.executorId, 0)
        )
      }
    }
  }

  /** How many tasks can run at once, on all executors that Spark gives tasks now. */
  def slots(sc: SparkContext): Int = {
    // Spark's own count leaves out executors that leave, and not those that are excluded.
    val excluded =
      if (sc.isLocal) 0
      else
        sc.statusStore
          .executorList(activeOnly = true)
          .iterator
          .filter(e => e.isExcluded && !isLeaving(sc, e.id))
          .map(_.maxTasks)
          .sum
    sc.maxNumConcurrentTasks(sc.resourceProfileManager.defaultResourceProfile) - excluded
  }

  private def isLeaving(sc: SparkContext, id: String) = sc.schedulerBackend match {
    case client: ExecutorAllocationClient => !client.isExecutorActive(id)
    case _                                => false
  }

  /** Whose JARs the jobs of this thread run with: sessions of Spark Connect that add their own have class loaders of their own
    * on the executors.
    */
  def session: String = JobArtifactSet.getCurrentJobArtifactState.fold("")(_.uuid)
}
