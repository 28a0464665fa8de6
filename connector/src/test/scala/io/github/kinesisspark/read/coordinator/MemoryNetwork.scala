package io.github.kinesisspark.read.coordinator

import java.util.concurrent.TimeoutException

import scala.collection.concurrent.TrieMap
import scala.concurrent.{Future, Promise}
import scala.concurrent.duration._
import scala.util.Try

import org.apache.spark.kinesisspark.RpcChannel
import org.apache.spark.kinesisspark.RpcChannel.{Handler, Peer}

import io.github.kinesisspark.read.reader.Mailbox
import io.github.kinesisspark.runtime.Runtime

/** A network between processes in one JVM. Messages arrive on threads of its own, those to one end in the order in which they were sent; unless they get lost. */
final class MemoryNetwork(implicit runtime: Runtime) {
  import MemoryNetwork._

  private val ends    = TrieMap.empty[String, End]
  private val cuts    = TrieMap.empty[(String, String), Unit]
  private val broken  = TrieMap.empty[String, Reply => Unit]
  private val threads = runtime.workers.growing("memory-network")

  /** The network as one process sees it. */
  def of(process: String): RpcChannel.Network = new RpcChannel.Network {
    override def open(name: String, handler: Handler): Peer = {
      val end = new End(process, handler)
      ends(name) = end
      new Link(process, end)
    }
    override def ofDriver(name: String): Peer = new Link(process, ends(name))
  }

  def run[A](work: => A): Future[A] = {
    val end = Promise[A]()
    threads.execute(() => end.complete(Try(work)): Unit)
    end.future
  }

  /** From now on all messages from one process to another get lost. */
  def cut(from: String, to: String): Unit = cuts(from -> to) = ()

  /** From now on a process does nothing that it is asked, other than to answer heartbeats.
    *
    * @param answer to what it is asked, if it gives any
    */
  def break(process: String)(answer: Reply => Unit): Unit = broken(process) = answer

  def heal(): Unit = cuts.clear()

  def close(): Unit = ends.values.foreach(_.handler.stopped())

  private def isCut(from: String, to: String) = cuts.contains(from -> to)

  private final class End(val process: String, val handler: Handler) {
    val inbox = new Mailbox[() => Unit](threads, _ => ())(_())
  }

  private final class Link(from: String, end: End) extends Peer {
    override def ask(source: String, request: Array[Byte], within: FiniteDuration): Future[Array[Byte]] =
      call[Array[Byte]](within)(reply =>
        broken.get(end.process).fold(end.handler.asked(source, request, reply))(_(reply))
      )

    override def beat(heartbeat: Array[Byte], within: FiniteDuration): Future[Array[Byte]] =
      call[Array[Byte]](within)(reply => reply(end.handler.beaten(heartbeat)))

    override def introduce(executor: String, session: String, self: Peer): Unit = {
      val back = self.asInstanceOf[Link].to(end.process)
      val done = call[Boolean](1.minute) { reply =>
        end.handler.introduced(executor, session, back)
        reply(true)
      }
      runtime.waits.isDone(done, 1.minute): Unit
    }

    private def to(process: String) = new Link(process, end)

    private def call[A](within: FiniteDuration)(work: (A => Unit) => Unit): Future[A] = {
      val answer = Promise[A]()
      val timer  = runtime.timers.schedule(within.toNanos)(answer.tryFailure(new TimeoutException("no answer")): Unit)
      if (!isCut(from, end.process))
        end.inbox.put(() => work(a => if (!isCut(end.process, from)) { timer.cancel(); answer.trySuccess(a): Unit }))
      answer.future
    }
  }
}

object MemoryNetwork {
  type Reply = Array[Byte] => Unit
}
