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
  override def receive: PartialFunction[Any, Unit] = { case message: String => handler.noted(message) }

  override def receiveAndReply(call: RpcCallContext): PartialFunction[Any, Unit] = {
    case request: Array[Byte]   => handler.asked(request, call.reply(_))
    case sources: Array[String] =>
      handler.keptAlive(sources.toVector)
      call.reply(true)
    case (executor: String, session: String, peer: RpcEndpointRef) =>
      handler.introduced(executor, session, new RpcChannel.Peer(peer))
      call.reply(true)
  }

  override def onStop(): Unit = handler.stopped()
}

object RpcChannel {

  /** What comes in. Called on threads of Spark that serve all of its messages: must not block. */
  trait Handler {
    def noted(source: String): Unit                                     = ()
    def asked(request: Array[Byte], reply: Array[Byte] => Unit): Unit   = ()
    def keptAlive(sources: Vector[String]): Unit                        = ()
    def introduced(executor: String, session: String, peer: Peer): Unit = ()
    def stopped(): Unit                                                 = ()
  }

  /** Opens an end in this JVM; it closes with the SparkContext. */
  def open(name: String, handler: Handler): Peer = {
    val env = SparkEnv.get.rpcEnv
    new Peer(env.setupEndpoint(name, new RpcChannel(env, handler)))
  }

  /** The driver's end, seen from an executor. */
  def ofDriver(name: String): Peer = {
    val env = SparkEnv.get
    new Peer(RpcUtils.makeDriverRef(name, env.conf, env.rpcEnv))
  }

  /** The other end. */
  final class Peer(private[RpcChannel] val ref: RpcEndpointRef) {
    def note(source: String): Unit = ref.send(source)

    def ask(request: Array[Byte], within: FiniteDuration): Future[Array[Byte]] =
      ref.ask[Array[Byte]](request, timeout(within))

    def keepAlive(sources: Vector[String], within: FiniteDuration): Future[Boolean] =
      ref.ask[Boolean](sources.toArray, timeout(within))

    /** Lets the driver call back, although an executor listens on no port. */
    def introduce(executor: String, session: String, self: Peer): Unit =
      ref.askSync[Boolean]((executor, session, self.ref)): Unit

    private def timeout(within: FiniteDuration) = new RpcTimeout(within, "a constant of the Kinesis source")
  }
}
