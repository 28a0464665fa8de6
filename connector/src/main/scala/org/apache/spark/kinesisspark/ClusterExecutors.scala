package org.apache.spark.kinesisspark

import org.apache.spark.SparkContext

/** The executors that are alive, as (host, id). Stands in Spark's package because Spark shows executor ids and slots to nobody else;
  * in local mode the driver is the one executor.
  */
object ClusterExecutors {
  def alive(sc: SparkContext): Vector[(String, String)] = {
    val managers = sc.env.blockManager.master.getMemoryStatus.keys.toVector
    val chosen   = if (sc.isLocal) managers.filter(_.isDriver) else managers.filterNot(_.isDriver)
    chosen.map(m => (m.host, m.executorId))
  }

  /** How many tasks can run at once, on all executors there are now. */
  def slots(sc: SparkContext): Int = sc.maxNumConcurrentTasks(sc.resourceProfileManager.defaultResourceProfile)
}
