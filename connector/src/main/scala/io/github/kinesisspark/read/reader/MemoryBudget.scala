package io.github.kinesisspark.read.reader

import java.util.concurrent.Executor
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable

import io.github.kinesisspark.read.reader.MemoryBudget._
import io.github.kinesisspark.read.reader.PollingRecordPublisher.LargestAnswer

/** The bytes that the readers of one executor may hold together, whatever the backlog and however many queries read there.
  *
  * Sources join it, and it is as large as the largest of them asks for. Memory is taken for what is expected, before it is asked for; what turns out
  * to be larger waits in the network for the rest ([[AnswerMemoryGate]], [[EventMemoryGate]]). The requests of one source are served in the order they
  * came.
  *
  * A query with a long trigger holds what it has for as long, and so does a source whose query waits for another of its sources. So no source may wait
  * for what others hold. Where there is room for two more, the memory of a poller's largest answer is kept free for each source with readers that holds
  * less than that. Where there isn't, or a request is for more, a source that holds next to nothing gets one served beyond the capacity: its readers by
  * fan-out always have a little, for small events. So does a task that has nothing to do ([[Overdraft]]): the others give memory back only when it
  * continues. What a range leaves of such an answer goes ([[ShardReader.leave]]). So the bound is the capacity and one answer for each running task; and one for each source where the capacity is small, or an event large.
  *
  * @param worker calls back whoever has waited: who gives memory back may hold locks, and has no time for what others do with it
  */
final class MemoryBudget(worker: Executor) {
  // All below is guarded by `this`.
  private var members = Vector.empty[Member]
  private var taken   = 0L
  private var tickets = 0L

  @volatile private var most = 0L
  private val readers        = new AtomicInteger

  /** @param bytes the readers of the new member may hold, if no other member asks for more */
  def join(bytes: Long): Member = synchronized {
    val member = new Member(this, bytes)
    members :+= member
    most = members.map(_.bytes).max
    member
  }

  def capacity: Long = most

  def used: Long = synchronized(taken)

  /** What one reader may hold: an even share of three quarters. The last quarter is for answers that are awaited, also by a reader that
    * holds nothing while all others hold what they may.
    */
  private def share: Long = most / 4 * 3 / readers.get.max(1).toLong

  private def leave(member: Member): Unit = {
    val served = synchronized {
      members = members.filterNot(_ eq member)
      if (members.nonEmpty) most = members.map(_.bytes).max
      serve()
    }
    notifyGranted(served)
  }

  private def take(account: Account, bytes: Long => Long, granted: Long => Unit): Request = {
    val (request, now) = synchronized {
      tickets += 1
      val request = new Request(this, account, bytes, granted, tickets)
      val now     = Option.when(account.member.waiting.isEmpty && fits(request))(serve(request))
      if (now.isEmpty) {
        account.member.waiting.enqueue(request)
        account.waiting.enqueue(request)
      }
      (request, now)
    }
    now.fold(account.whenWaiting())(_.run())
    request
  }

  private def withdraw(request: Request): Unit = {
    val served = synchronized {
      val own = request.account.member.waiting.dequeueAll(_ eq request)
      request.account.waiting.dequeueFirst(_ eq request)
      if (own.isEmpty) Vector.empty else serve()
    }
    notifyGranted(served)
  }

  private def giveBack(account: Account, bytes: Long): Unit = {
    val served = synchronized {
      change(account, -bytes)
      serve()
    }
    notifyGranted(served)
  }

  private def open(member: Member): Unit = {
    readers.incrementAndGet()
    synchronized(member.readers += 1)
  }

  private def close(member: Member): Unit = {
    readers.decrementAndGet()
    val served = synchronized {
      member.readers -= 1
      serve()
    }
    notifyGranted(served)
  }

  private def overdraw(account: Account): Unit =
    notifyGranted(synchronized(account.member.waiting.dequeueAll(_.account eq account).map(serveWaiting)))

  private def notifyGranted(served: Seq[Grant]): Unit = served.foreach(grant => worker.execute(() => grant.run()))

  private def serve(): Vector[Grant] = {
    val ready  = Vector.newBuilder[Grant]
    def next() = members.flatMap(_.waiting.headOption).filter(fits).minByOption(_.ticket)
    var one    = next()
    while (one.nonEmpty) {
      one.foreach { request =>
        request.account.member.waiting.dequeue()
        ready += serveWaiting(request)
      }
      one = next()
    }
    ready.result()
  }

  private def serveWaiting(request: Request): Grant = {
    request.account.waiting.dequeueFirst(_ eq request)
    serve(request)
  }

  private def serve(request: Request): Grant = {
    val bytes = request.of(capacity)
    change(request.account, bytes)
    Grant(request, bytes)
  }

  private def change(account: Account, bytes: Long): Unit = {
    taken += bytes
    account.taken += bytes
    account.member.taken += bytes
  }

  private def fits(request: Request): Boolean = {
    val member  = request.account.member
    val wanted  = request.of(capacity)
    val others  = othersThan(member)
    val isSmall = tooSmallFor(others.size, wanted)
    val kept    = if (isSmall) 0L else others.iterator.map(m => (LargestRequest - m.taken).max(0L)).sum
    taken + wanted <= capacity - kept || ((isSmall || wanted > LargestRequest) && member.taken <= capacity / Little)
  }

  private def tooSmallFor(others: Int, wanted: Long) =
    capacity < others * LargestRequest + 2 * wanted.max(LargestRequest)

  private def isSmall(member: Member): Boolean =
    synchronized(tooSmallFor(othersThan(member).size, LargestRequest))

  /** That read. */
  private def othersThan(member: Member) = members.filter(m => (m ne member) && m.readers > 0)
}

object MemoryBudget {

  /** What a poller takes for its largest answer. */
  private[reader] val LargestRequest: Long = AnswerMemoryGate.Forms * LargestAnswer

  /** A source that has one in so many bytes of the capacity holds next to nothing: [[FanOutRecordPublisher]] takes less for events that are awaited. */
  private val Little = 8L

  /** What to take for an answer while it is decoded: for all its forms, if half of all memory is enough for them, else for one. A quarter is
    * left for what readers have taken that wait for an answer.
    *
    * @param forms in which its bytes are on the heap at the same time
    */
  private[reader] def forDecoding(capacity: Long, bytes: Long, forms: Int): Long =
    bytes.max((forms * bytes).min(capacity / 2)).min(capacity / 4 * 3)

  /** Bytes that an answer is to have, about: two fit in a reader's share, though records differ in size. Answers of more than 4 MiB cost no less CPU, and
    * need more memory while they are decoded.
    */
  def answer(share: Long): Long = (share / 5 * 2).min(4L << 20)

  /** The readers of one source, or of one task. */
  final class Member private[MemoryBudget] (budget: MemoryBudget, private[MemoryBudget] val bytes: Long)
      extends AutoCloseable {
    // Guarded by the budget.
    private[MemoryBudget] var taken   = 0L
    private[MemoryBudget] var readers = 0
    private[MemoryBudget] val waiting = mutable.Queue.empty[Request]

    /** @param whenWaiting is called when a request has to wait, with no lock held */
    def account(whenWaiting: () => Unit = () => ()): Account = {
      budget.open(this)
      new Account(budget, this, whenWaiting)
    }

    /** How many readers are open. */
    private[reader] def open: Int = budget.synchronized(readers)

    /** What its readers still hold is given back as they let go of it. */
    override def close(): Unit = budget.leave(this)
  }

  /** What one reader holds, and waits for. */
  final class Account private[MemoryBudget] (
      budget: MemoryBudget,
      private[MemoryBudget] val member: Member,
      private[MemoryBudget] val whenWaiting: () => Unit
  ) extends AutoCloseable {
    // Guarded by the budget.
    private[MemoryBudget] val waiting = mutable.Queue.empty[Request]
    private[MemoryBudget] var taken   = 0L

    /** Bytes that it has, of records and of answers on their way. */
    private[read] def used: Long = budget.synchronized(taken)

    def capacity: Long = budget.capacity

    def share: Long = budget.share

    /** There is no room to keep the memory of a largest answer free for each source. */
    def isSmall: Boolean = budget.isSmall(member)

    /** It has asked for more than there is. */
    def isWaiting: Boolean = waitingSince.nonEmpty

    /** The number of its oldest request that waits: who asks later has a higher one. */
    private[reader] def waitingSince: Option[Long] = budget.synchronized(waiting.headOption.map(_.ticket))

    /** Calls `granted` with what was taken, once that is so: now, or later on a worker; never with a lock held.
      *
      * @param bytes to be taken of a capacity, which may change while the request waits; at most all of it
      */
    def take(bytes: Long => Long)(granted: Long => Unit): Request = budget.take(this, bytes, granted)

    def giveBack(bytes: Long): Unit = budget.giveBack(this, bytes)

    /** More is taken than readers may hold together. */
    def isOverdrawn: Boolean = budget.used > budget.capacity

    /** Has a request that waits served now. */
    def overdraw(): Unit = budget.overdraw(this)

    /** Its reader doesn't count for the shares of the others any more. Called once. */
    override def close(): Unit = budget.close(member)
  }

  /** For memory, once. */
  final class Request private[MemoryBudget] (
      budget: MemoryBudget,
      private[MemoryBudget] val account: Account,
      bytes: Long => Long,
      private[MemoryBudget] val granted: Long => Unit,
      private[MemoryBudget] val ticket: Long
  ) {
    private[MemoryBudget] def of(capacity: Long): Long = bytes(capacity).min(capacity)

    /** Waits no more. If it has been served, that changes nothing: what it was granted is to be given back. */
    def withdraw(): Unit = budget.withdraw(this)
  }

  private final case class Grant(request: Request, bytes: Long) {
    def run(): Unit = request.granted(bytes)
  }
}
