package io.github.kinesisspark.simulation

import java.io.IOException
import java.util.concurrent.TimeoutException

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.concurrent.duration._
import scala.util.{Failure, Success, Try}

import org.apache.spark.kinesisspark.RpcChannel
import org.apache.spark.kinesisspark.RpcChannel.{Handler, Peer}

/** What lies between processes, and between them and the service. Messages from one end to another arrive in their order, late, or not at all while
  * that way is cut.
  */
final class Network(baton: Baton, conversation: Conversation) {
  import Network._

  private val cutUntil = mutable.HashMap.empty[(String, String), Long]
  private val latest   = mutable.HashMap.empty[(String, String), Long]
  private val ends     = mutable.LinkedHashMap.empty[String, End]

  /** The share of messages that are lost with their connection. */
  private[simulation] var lost = 0.0

  /** The share of executors' answers to orders that are, too. */
  private[simulation] var lostAnswers = 0.0

  private[simulation] var slow = 0.0

  /** Nothing comes through in that direction. What is sent meanwhile arrives after that, so a shorter cut does not end a longer one. */
  def cut(from: String, to: String, nanos: Long): Unit =
    cutUntil((from, to)) = (baton.now + nanos).max(cutUntil.getOrElse((from, to), 0L))

  def isCut(from: String, to: String): Boolean = cutUntil.get((from, to)).exists(_ > baton.now)

  /** Few messages are lost. */
  def isCalm: Boolean = lost < 0.5 && lostAnswers == 0 && slow == 0

  /** @param lost  called instead where the message is lost and its sender gets to know it: a connection that breaks
    * @param share of messages that are
    */
  def send(from: String, to: String, lost: () => Unit = () => (), share: Double = this.lost)(
      deliver: => Unit
  ): Unit = {
    val isLost = baton.chance(share)
    val takes  =
      if (baton.chance(slow)) baton.between(100.millis.toNanos, 8.seconds.toNanos)
      else baton.between(50.micros.toNanos, 3.millis.toNanos)
    // What is sent into a way that is cut is sent again by TCP, unless the connection is gone by then.
    val isGone  = isCut(from, to) && baton.chance(0.5)
    val arrives = (baton.now.max(cutUntil.getOrElse((from, to), 0L)) + takes).max(latest.getOrElse((from, to), 0L) + 1)
    if (!isGone) {
      latest((from, to)) = arrives
      baton.at(arrives)(if (isLost) lost() else deliver)
    }
  }

  /** What Spark itself sends arrives in the end: it would sooner give the process up. */
  def sendSafely(from: String, to: String)(deliver: => Unit): Unit = {
    val arrives =
      baton.now.max(cutUntil.getOrElse((from, to), 0L)) + baton.between(200.micros.toNanos, 5.millis.toNanos)
    baton.at(arrives)(if (isCut(from, to)) sendSafely(from, to)(deliver) else deliver)
  }

  /** Spark's RPC, as one process has it. */
  def of(process: Process): RpcChannel.Network = new RpcChannel.Network {
    override def open(name: String, handler: Handler): Peer = {
      val end = new End(process, handler)
      ends(name) = end
      new PeerOf(process, end)
    }

    override def ofDriver(name: String): Peer =
      new PeerOf(process, ends.getOrElse(name, throw new IOException(s"no end $name")))
  }

  private final class PeerOf(process: Process, override val end: End) extends ToEnd {
    import process.runtime

    private lazy val timers = runtime.workers.fixed("rpc-answers", 1)

    override def ask(source: String, request: Array[Byte], within: FiniteDuration): Future[Array[Byte]] = {
      val callbacks = conversation.asked(process.name, end.process.name, request)
      val answer    = asked[Array[Byte]](within, if (end.process.isExecutor) lost.max(lostAnswers) else lost) { reply =>
        def replied(bytes: Array[Byte]): Unit = {
          callbacks.replied(bytes)
          reply(bytes)
        }
        end.handler.asked(source, request, replied)
      }
      answer.failed.foreach(callbacks.failed)(ExecutionContext.parasitic)
      answer
    }

    override def beat(heartbeat: Array[Byte], within: FiniteDuration): Future[Array[Byte]] = {
      conversation.beats(end.process.name, heartbeat)
      asked[Array[Byte]](within)(reply => reply(end.handler.beaten(heartbeat)))
    }

    override def introduce(executor: String, session: String, self: Peer): Unit = {
      val own = self match {
        case peer: ToEnd => peer.end
        case other       => throw new IllegalArgumentException(other.toString)
      }
      val done = asked[Boolean](120.seconds) { reply =>
        end.handler.introduced(executor, session, new PeerOf(end.process, own))
        reply(true)
      }
      runtime.waits.isDone(done, 121.seconds)
      done.value.getOrElse(Failure(new TimeoutException("introduce"))).get: Unit
    }

    private def asked[A](within: FiniteDuration, lostAnswers: => Double = lost)(
        handle: (A => Unit) => Unit
    ): Future[A] = {
      val answer = Promise[A]()
      val late = timers.schedule(within.toNanos)(answer.tryFailure(new TimeoutException(s"no reply in $within")): Unit)
      def complete(with_ : Try[A]): Unit = if (process.isAlive) timers.execute { () =>
        late.cancel()
        answer.tryComplete(with_): Unit
      }
      val (here, there) = (process.name, end.process.name)
      def broken()      = complete(Failure(new IOException("the connection broke")))
      send(here, there, () => broken()) {
        if (!end.process.isAlive) send(there, here)(broken())
        else end.handle(handle(value => send(there, here, () => broken(), lostAnswers)(complete(Success(value)))))
      }
      answer.future
    }
  }
}

private object Network {

  /** Where messages arrive. One is handled after the other, as by Spark's `ThreadSafeRpcEndpoint`. */
  final class End(val process: Process, val handler: Handler) {
    private val inbox = process.runtime.workers.fixed("rpc", 1)

    def handle(work: => Unit): Unit = if (process.isAlive) inbox.execute(() => work)
  }

  trait ToEnd extends Peer {
    def end: End
  }
}
