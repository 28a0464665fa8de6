package io.github.kinesisspark.it.chaos

import org.apache.spark.SparkConf
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}

/** Kills the driver in the middle of a batch: after the given number of tasks have written rows. Set as `spark.extraListeners`. Spark calls
  * it on one thread.
  */
final class CrashingTasks(conf: SparkConf) extends SparkListener {
  private val killAfter =
    CrashPoint.read(conf.get(s"spark.hadoop.${CrashPoint.Key}")).filter(_.where == "tasks").map(_.number)
  private var written = 0

  override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
    if (Option(end.taskMetrics).exists(_.outputMetrics.recordsWritten > 0)) {
      written += 1
      if (killAfter.contains(written)) CrashPoint.kill()
    }
}
