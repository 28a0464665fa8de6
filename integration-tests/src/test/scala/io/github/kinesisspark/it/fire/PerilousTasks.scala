package io.github.kinesisspark.it.fire

import org.apache.spark.SparkConf
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}

/** Death of the driver in the midst of a batch: when the given number of tasks have written rows, and others may be about
  * to. For `spark.extraListeners`.
  */
final class PerilousTasks(conf: SparkConf) extends SparkListener {
  private val deadly  = Peril.read(conf.get(s"spark.hadoop.${Peril.Key}")).filter(_.where == "tasks").map(_.number)
  private var written = 0

  override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
    if (Option(end.taskMetrics).exists(_.outputMetrics.recordsWritten > 0)) {
      written += 1
      if (deadly.contains(written)) Peril.die()
    }
}
