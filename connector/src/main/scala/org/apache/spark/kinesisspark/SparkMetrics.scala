package org.apache.spark.kinesisspark

import com.codahale.metrics.{Gauge, MetricRegistry}
import org.apache.spark.SparkEnv
import org.apache.spark.metrics.source.Source

/** Gauges in Spark's metrics system, so that each of its sinks (JMX, Prometheus, StatsD, CSV) shows them as `<application>.driver.kinesis.<group>.<gauge>`.
  *
  * Spark takes up a source's gauges when it is registered, and removes by the beginning of a name; so there is one source for all groups,
  * which is registered anew when a group comes or goes. May be called from any thread.
  */
object SparkMetrics {
  private var groups     = Map.empty[String, Map[String, () => Long]]
  private var registered = Option.empty[(SparkEnv, Source)]

  /** Show gauges until the result is closed. Where another group has the name, a number is put after it.
    *
    * @param gauges by name; called by the sinks' threads
    */
  def show(group: String, gauges: Map[String, () => Long]): AutoCloseable = synchronized {
    val name = Iterator.from(1).map(n => if (n == 1) group else s"$group-$n").find(!groups.contains(_)).get
    change(groups + (name -> gauges))
    () => synchronized(if (groups.contains(name)) change(groups - name))
  }

  /** The names of all groups. */
  def shown: Set[String] = synchronized(groups.keySet)

  private def change(now: Map[String, Map[String, () => Long]]): Unit = {
    registered.foreach { case (env, source) => env.metricsSystem.removeSource(source) }
    groups = now
    registered = Option(SparkEnv.get).filter(_ => now.nonEmpty).map { env =>
      val source = sourceOf(now)
      env.metricsSystem.registerSource(source)
      (env, source)
    }
  }

  private def sourceOf(groups: Map[String, Map[String, () => Long]]): Source = {
    val registry = new MetricRegistry
    for ((group, gauges) <- groups; (name, value) <- gauges)
      registry.register(
        MetricRegistry.name(group, name),
        new Gauge[Long] { override def getValue: Long = value() }
      )
    new Source {
      override val sourceName: String             = "kinesis"
      override val metricRegistry: MetricRegistry = registry
    }
  }
}
