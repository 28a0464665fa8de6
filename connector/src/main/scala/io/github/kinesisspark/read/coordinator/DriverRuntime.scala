package io.github.kinesisspark.read.coordinator

import scala.util.control.NonFatal

import org.apache.spark.kinesisspark.RpcChannel
import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.runtime.Runtime

/** What one driver has for all its queries: clients, orders and what readers report, and its end of the channel to the executors.
  *
  * @param local the executor in the driver's own process, which reads in local mode
  */
final class DriverRuntime(val clients: KinesisClients, network: RpcChannel.Network, local: => ExecutorRuntime) {
  private val log = LoggerFactory.getLogger(classOf[DriverRuntime])

  implicit val runtime: Runtime = clients.runtime

  private[coordinator] val orders                = new OrdersBySource
  private[coordinator] def here: ExecutorRuntime = local

  private var current = Option.empty[(Cluster, DriverEndpoint)]

  /** That of the cluster, or why it can't be opened. */
  private[coordinator] def endpoint(cluster: Cluster): Either[String, DriverEndpoint] = synchronized {
    current match {
      case Some((`cluster`, endpoint)) => Right(endpoint)
      case _                           =>
        try {
          val endpoint = new DriverEndpoint(cluster, orders, ended)
          endpoint.open(network)
          current = Some(cluster -> endpoint)
          Right(endpoint)
        } catch {
          // Spark's RPC is private: another Spark may have it in another shape.
          case e @ (NonFatal(_) | _: LinkageError) =>
            log.warn("The driver's end of the channel to the executors can't be opened.", e)
            Left(e.toString)
        }
    }
  }

  private def ended(endpoint: DriverEndpoint): Unit = synchronized {
    current = current.filterNot(_._2 eq endpoint)
  }
}

object DriverRuntime {

  /** That of this JVM. */
  lazy val ofJvm: DriverRuntime =
    new DriverRuntime(KinesisClients.ofJvm, RpcChannel.SparkNetwork, ExecutorRuntime.ofJvm)
}
