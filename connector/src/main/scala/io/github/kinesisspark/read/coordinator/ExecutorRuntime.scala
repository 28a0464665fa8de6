package io.github.kinesisspark.read.coordinator

import java.util.Arrays

import scala.collection.mutable

import org.apache.spark.SparkEnv
import org.apache.spark.kinesisspark.RpcChannel

import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.jar.WireFormat
import io.github.kinesisspark.read.reader.ShardReaderPools
import io.github.kinesisspark.runtime.Runtime

/** What one executor has for all queries: shard readers, clients, and its end of the channel to the driver. */
final class ExecutorRuntime(executorId: () => String, clients: KinesisClients, network: RpcChannel.Network) {
  implicit val runtime: Runtime = clients.runtime

  val pools: ShardReaderPools = new ShardReaderPools(executorId, clients)

  private[kinesisspark] val endpoint = new ExecutorEndpoint(executorId, pools, network)

  /** Of the sources whose tasks came last, by source: the bytes that came along, and what was in them. */
  private val known = mutable.LinkedHashMap.empty[String, (Array[Byte], Any)]

  /** What comes along with each task of a source, as bytes, which are read once and not in each task. */
  private[read] def received[A](source: String, written: Array[Byte]): A = known
    .synchronized {
      known.get(source).collect { case (bytes, value) if Arrays.equals(bytes, written) => value }.getOrElse {
        val value = WireFormat.read[Any](written)
        known -= source
        known(source) = written -> value
        if (known.size > ExecutorRuntime.Remembered) known -= known.head._1
        value
      }
    }
    .asInstanceOf[A]
}

object ExecutorRuntime {
  private val Remembered = 100

  /** That of this JVM, where Spark runs tasks. */
  lazy val ofJvm: ExecutorRuntime =
    new ExecutorRuntime(() => SparkEnv.get.executorId, KinesisClients.ofJvm, RpcChannel.SparkNetwork)
}
