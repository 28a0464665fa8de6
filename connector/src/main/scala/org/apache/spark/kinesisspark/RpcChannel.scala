package org.apache.spark.kinesisspark

import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

import org.apache.spark.SparkEnv
import org.apache.spark.rpc.{RpcCallContext, RpcEndpointRef, RpcEnv, RpcTimeout, ThreadSafeRpcEndpoint}
import org.apache.spark.util.RpcUtils

/** One end of a channel between the driver and its executors, in Spark's RPC environment, which Spark shows to nobody else.
  *
  * Messages consist of JDK types alone: the class loader that an executor's RPC uses doesn't know the JARs of `--jars`.
  */
final class RpcChannel private (override val rpcEnv: RpcEnv, handler: RpcChannel.Handler)
    extends ThreadSafeRpcEndpoint {
  override def receiveAndReply(call: RpcCallContext): PartialFunction[Any, Unit] = {
    case (sourceId: String, request: Array[Byte])                  => handler.asked(sourceId, request, call.reply(_))
    case heartbeat: Array[Byte]                                    => call.reply(handler.beaten(heartbeat))
    case (executor: String, session: String, peer: RpcEndpointRef) =>
      handler.introduced(executor, session, new RpcChannel.SparkPeer(peer))
      call.reply(true)
  }

  override def onStop(): Unit = handler.stopped()
}

object RpcChannel {

  /** What comes in. Called on threads of Spark that serve all of its messages: must not block. */
  trait Handler {

    /** Of one source, in the order in which they were sent. */
    def asked(sourceId: String, request: Array[Byte], reply: Array[Byte] => Unit): Unit = ()

    /** A heartbeat, which nobody sends to a driver. Returns the answer. */
    def beaten(heartbeat: Array[Byte]): Array[Byte] = heartbeat

    def introduced(executor: String, session: String, peer: Peer): Unit = ()
    def stopped(): Unit                                                 = ()
  }

  /** The other end. */
  trait Peer {
    def ask(sourceId: String, request: Array[Byte], within: FiniteDuration): Future[Array[Byte]]
    def beat(heartbeat: Array[Byte], within: FiniteDuration): Future[Array[Byte]]

    /** Lets the driver call back, although an executor listens on no port. Waits for the driver. */
    def introduce(executor: String, session: String, self: Peer): Unit
  }

  /** Where ends are opened and found. */
  trait Network {

    /** Opens an end in this process; it closes with the SparkContext. */
    def open(name: String, handler: Handler): Peer

    /** The driver's end, seen from an executor. */
    def ofDriver(name: String): Peer
  }

  object SparkNetwork extends Network {
    override def open(name: String, handler: Handler): Peer = {
      val env = SparkEnv.get.rpcEnv
      new SparkPeer(env.setupEndpoint(name, new RpcChannel(env, handler)))
    }

    override def ofDriver(name: String): Peer = {
      val env = SparkEnv.get
      new SparkPeer(RpcUtils.makeDriverRef(name, env.conf, env.rpcEnv))
    }
  }

  private final class SparkPeer(ref: RpcEndpointRef) extends Peer {
    override def ask(sourceId: String, request: Array[Byte], within: FiniteDuration): Future[Array[Byte]] =
      ref.ask[Array[Byte]](sourceId -> request, timeout(within))

    override def beat(heartbeat: Array[Byte], within: FiniteDuration): Future[Array[Byte]] =
      ref.ask[Array[Byte]](heartbeat, timeout(within))

    override def introduce(executor: String, session: String, self: Peer): Unit = self match {
      case own: SparkPeer => ref.askSync[Boolean]((executor, session, own.of)): Unit
      case other          => throw new IllegalArgumentException(s"not an end in Spark's network: $other")
    }

    private def of = ref

    private def timeout(within: FiniteDuration) = new RpcTimeout(within, "a constant of the Kinesis source")
  }
}
