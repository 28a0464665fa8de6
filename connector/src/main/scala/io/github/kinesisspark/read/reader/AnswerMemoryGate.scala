package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer

import scala.jdk.OptionConverters._

import org.reactivestreams.{Publisher, Subscriber, Subscription => Flow}
import software.amazon.awssdk.http.SdkHttpResponse

import io.github.kinesisspark.aws.ResponseFilter
import io.github.kinesisspark.read.reader.AnswerMemoryGate._
import io.github.kinesisspark.read.reader.PollingRecordPublisher.LargestAnswer
import io.github.kinesisspark.runtime.Runtime

/** Memory for one answer to GetRecords. What the answer is expected to need was taken before the call; its `Content-Length` says what it does need. If
  * that is more, what was taken is given back, the bytes of the answer wait in the network, and all of it is taken at once: answers that wait for
  * each other while each holds a part would wait without end.
  *
  * The answer comes on the SDK's threads, memory on any thread. None of them waits.
  *
  * @param taken bytes of memory, which are the gate's from now on
  * @param body  sees the bytes that the gate lets through
  */
final class AnswerMemoryGate(memory: MemoryBudget.Account, taken: Long, body: ResponseFilter)(implicit runtime: Runtime)
    extends ResponseFilter {
  // Guarded by `this`.
  private var held    = taken
  private var awaited = Option.empty[Long]
  private var closed  = false
  private var began   = Option.empty[Long]
  private var size    = 0L
  private var request = Option.empty[MemoryBudget.Request]

  /** The memory that was taken for the answer: it is the caller's now. The gate waits for no more, and gives back what comes later. */
  def takeOver(): Long = {
    val (bytes, waiting) = synchronized {
      closed = true
      val all = (held, request)
      held = 0
      all
    }
    waiting.foreach(_.withdraw())
    bytes
  }

  /** Bytes of memory that the answer needs and has not got. */
  def missing: Option[Long] = synchronized(awaited)

  /** When the answer began to come, by the clock: the service had made it by then. */
  def answered: Option[Long] = synchronized(began)

  /** Bytes of the answer's body. */
  def length: Long = synchronized(size)

  override def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer] = {
    val all      = lengthOf(answer)
    val needed   = MemoryBudget.forDecoding(memory.capacity, all, Forms)
    val isEnough = synchronized {
      size = all
      began = Some(runtime.clock.nanos())
      closed || needed <= held
    }
    body.through(answer, if (isEnough) bytes else to => bytes.subscribe(new Waiting(needed, to)))
  }

  /** Asks for no bytes before there is memory for all of them. */
  private final class Waiting(needed: Long, to: Subscriber[? >: ByteBuffer]) extends Subscriber[ByteBuffer] {
    // Guarded by `this`.
    private var wanted = 0L
    private var isOpen = false

    override def onSubscribe(flow: Flow): Unit = {
      to.onSubscribe(new Flow {
        override def request(chunks: Long): Unit = if (mayPass(chunks)) flow.request(chunks)
        override def cancel(): Unit              = flow.cancel()
      })
      exchange(needed) {
        val before = open()
        if (before > 0) flow.request(before)
      }
    }

    private def mayPass(chunks: Long) = synchronized {
      if (!isOpen) wanted = if (chunks > Long.MaxValue - wanted) Long.MaxValue else wanted + chunks
      isOpen
    }

    private def open() = synchronized {
      isOpen = true
      wanted
    }

    override def onNext(bytes: ByteBuffer): Unit   = to.onNext(bytes)
    override def onError(failure: Throwable): Unit = to.onError(failure)
    override def onComplete(): Unit                = to.onComplete()
  }

  private def exchange(needed: Long)(enough: => Unit): Unit = {
    val before = synchronized {
      val bytes = held
      held = 0
      awaited = Some(needed)
      bytes
    }
    memory.giveBack(before)
    val asked = memory.take(_ => needed) { bytes =>
      val isLate = synchronized {
        if (!closed) {
          held += bytes
          awaited = None
        }
        closed
      }
      if (isLate) memory.giveBack(bytes) else enough
    }
    val isOver = synchronized {
      request = Some(asked)
      closed
    }
    if (isOver) asked.withdraw()
  }
}

private[reader] object AnswerMemoryGate {

  /** The body of an answer, and its records as they are kept. */
  val Forms = 2

  /** One that doesn't say how long it is may be the largest. */
  private def lengthOf(answer: SdkHttpResponse) =
    answer
      .firstMatchingHeader("Content-Length")
      .toScala
      .flatMap(_.trim.toLongOption)
      .filter(_ >= 0)
      .getOrElse(LargestAnswer)
}
