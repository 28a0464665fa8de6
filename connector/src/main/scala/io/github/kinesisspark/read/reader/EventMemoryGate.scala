package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong, AtomicReference}

import org.reactivestreams.{Publisher, Subscriber, Subscription => Flow}
import software.amazon.awssdk.http.SdkHttpResponse

import io.github.kinesisspark.aws.ResponseFilter
import io.github.kinesisspark.read.reader.EventMemoryGate._

/** Takes memory for the events of one subscription before their bytes come.
  *
  * An event says in its first four bytes how long it is. One that has not come whole waits here until there is memory for all of it, and HTTP/2's flow
  * control holds the rest back at the service; the SDK's decoder sees none of it before. So the events of many shards that are larger than all memory
  * take turns. Small events come whole: whoever takes an event counts it then.
  *
  * Bytes come on the SDK's threads and memory on any thread; what follows is done by one of them at a time. None of them waits.
  */
final class EventMemoryGate(memory: MemoryBudget.Account) extends ResponseFilter with AutoCloseable {
  // Guarded by `this`.
  private var closed    = false
  private var beingRead = 0L
  private var complete  = 0L
  private var requested = Option.empty[MemoryBudget.Request]

  private val waiting = new AtomicInteger

  /** Bytes of events that did not come whole. */
  private val passed = new AtomicLong

  @volatile private var seen = 0L

  /** The memory of the events that have come whole since the last call: it is the caller's now. */
  def takeOver(): Long = synchronized {
    val bytes = complete
    complete = 0
    bytes
  }

  /** Whether an event is on its way that has not come whole: it waits for memory, or bytes of it have come since the last look. */
  def isMoving: Boolean = {
    val before = seen
    look()
    isWaiting || seen != before
  }

  /** For memory. */
  def isWaiting: Boolean = waiting.get > 0

  def look(): Unit = seen = passed.get

  /** Gives all memory back that nobody has taken over, and asks for none any more: what waits would hold up the source's other readers. */
  override def close(): Unit = {
    val (bytes, request) = synchronized {
      val all = beingRead + complete
      closed = true
      beingRead = 0
      complete = 0
      (all, requested)
    }
    request.foreach(_.withdraw())
    memory.giveBack(bytes)
  }

  override def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer] =
    (to: Subscriber[_ >: ByteBuffer]) => bytes.subscribe(new Passage(to))

  private def awaits(request: MemoryBudget.Request): Unit = {
    val isLate = synchronized {
      requested = Some(request)
      closed
    }
    if (isLate) request.withdraw()
  }

  private def granted(bytes: Long): Unit = {
    val isLate = synchronized {
      if (!closed) beingRead += bytes
      closed
    }
    if (isLate) memory.giveBack(bytes)
  }

  private def cameWhole(): Unit = synchronized {
    complete += beingRead
    beingRead = 0
  }

  private final class Passage(to: Subscriber[_ >: ByteBuffer]) extends Subscriber[ByteBuffer] with Flow {
    private val wanted             = new AtomicLong
    private val arrived            = new AtomicReference[ByteBuffer]
    private val work               = new AtomicInteger
    @volatile private var from     = Option.empty[Flow]
    @volatile private var failure  = Option.empty[Throwable]
    @volatile private var ended    = false
    @volatile private var over     = false
    @volatile private var enlarged = false

    // Below: of whoever works.
    private var rest    = Nothing
    private var framing = EventFraming.begin
    private var asked   = false
    private var begun   = Option.empty[Long]

    override def onSubscribe(flow: Flow): Unit = {
      from = Some(flow)
      to.onSubscribe(this)
    }
    override def onNext(bytes: ByteBuffer): Unit = { arrived.set(bytes); run() }
    override def onError(cause: Throwable): Unit = { failure = Some(cause); ended = true; run() }
    override def onComplete(): Unit              = { ended = true; run() }
    override def request(chunks: Long): Unit     = { wanted.accumulateAndGet(chunks, saturated(_, _)); run() }
    override def cancel(): Unit                  = { over = true; from.foreach(_.cancel()) }

    /** Does what can be done now, unless another thread is at it, which does this as well then. */
    private def run(): Unit = if (work.getAndIncrement() == 0) {
      var done = 1
      while (done != 0) {
        while (!over && advance()) ()
        done = work.addAndGet(-done)
      }
    }

    /** Whether there may be more to do at once. */
    private def advance(): Boolean = {
      // In this order: what came before the end is passed on before it.
      val isLast = ended
      Option(arrived.getAndSet(null)).foreach { bytes =>
        asked = false
        rest = joined(rest, bytes)
      }
      if (isLast && failure.isDefined) end(to.onError(failure.get))
      else begun.fold(begin(isLast))(awaitMemory)
    }

    private def begin(isLast: Boolean): Boolean = framing.next(rest) match {
      case EventFraming.Pass(bytes, next) => wanted.get > 0 && pass(bytes, next)
      case EventFraming.Begun(length)     =>
        wanted.get > 0 && {
          begun = Some(length)
          waiting.incrementAndGet()
          awaits(memory.take(MemoryBudget.forDecoding(_, length, Forms)) { bytes =>
            granted(bytes)
            waiting.decrementAndGet()
            enlarged = true
            run()
          })
          true
        }
      case EventFraming.More =>
        if (isLast) end(to.onComplete())
        else {
          val ask = wanted.get > 0 && !asked
          if (ask) {
            asked = true
            from.foreach(_.request(1))
          }
          ask
        }
    }

    private def awaitMemory(length: Long): Boolean = enlarged && {
      enlarged = false
      begun = None
      framing = EventFraming(length)
      true
    }

    private def pass(bytes: Int, next: EventFraming): Boolean = {
      val isWhole = framing.isBetween && next.isBetween
      val piece   = rest.slice().limit(bytes)
      rest = rest.position(rest.position() + bytes)
      framing = next
      if (!isWhole) passed.addAndGet(bytes.toLong): Unit
      wanted.decrementAndGet()
      if (framing.isBetween) cameWhole()
      to.onNext(piece)
      true
    }

    private def end(signal: => Unit): Boolean = {
      over = true
      signal
      false
    }
  }
}

object EventMemoryGate {

  /** An event is JSON, with data in base64. [[EventRecordExtractor]] has the message and the records; one that is left to the SDK is decoded whole: the
    * message, its payload, the text in characters of two bytes, and the text as a string. The records come when the message has gone.
    */
  private[reader] val Forms = 5

  private val Nothing = ByteBuffer.allocate(0)

  private def saturated(a: Long, b: Long) = if (a > Long.MaxValue - b) Long.MaxValue else a + b

  private def joined(a: ByteBuffer, b: ByteBuffer): ByteBuffer =
    if (!a.hasRemaining) b.duplicate()
    else ByteBuffer.allocate(a.remaining + b.remaining).put(a).put(b.duplicate()).flip()
}

/** Where in an event stream its bytes have come to. Each message begins with its length.
  *
  * @param left missing bytes of the message that is being let through
  * @see [[https://smithy.io/2.0/aws/amazon-eventstream.html the format]]
  */
final case class EventFraming(left: Long) {
  import EventFraming._

  def isBetween: Boolean = left == 0

  /** What is to be done with the bytes that have come and are not passed on. */
  def next(bytes: ByteBuffer): Next =
    if (!bytes.hasRemaining || (isBetween && bytes.remaining < LengthBytes)) More
    else if (left > 0) pass(bytes, left)
    else {
      val length = bytes.getInt(bytes.position()).toLong
      // The decoder finds out what it is.
      if (length < LengthBytes || length > Longest) pass(bytes, Long.MaxValue)
      else if (length <= bytes.remaining) pass(bytes, length)
      else Begun(length)
    }

  private def pass(bytes: ByteBuffer, of: Long) = {
    val some = of.min(bytes.remaining.toLong)
    Pass(some.toInt, EventFraming(of - some))
  }
}

object EventFraming {
  val begin: EventFraming = EventFraming(0)

  sealed trait Next
  final case class Pass(bytes: Int, next: EventFraming) extends Next

  /** A message begins that has not come whole. */
  final case class Begun(length: Long) extends Next
  case object More                     extends Next

  private val LengthBytes = 4

  /** Of what the format allows: 16 MiB of payload, and headers. */
  private val Longest = 17L << 20
}
