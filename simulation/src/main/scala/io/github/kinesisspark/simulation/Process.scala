package io.github.kinesisspark.simulation

import java.util.UUID
import java.util.concurrent.{Executor, RejectedExecutionException}

import scala.collection.mutable
import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.runtime.{Clock, Ids, Runtime, Timer, Waits, Worker, Workers}

/** A JVM of the simulation, with clocks of its own. Its threads run only while it does.
  *
  * @param epochMillis what its wall clock shows when the simulation begins
  */
final class Process(val name: String, baton: Baton, trace: Trace, epochMillis: Long) {
  import Baton.Never

  private var alive        = true
  private var stillUntil   = 0L
  private var wallMillis   = epochMillis
  private var suspendedFor = 0L
  private val workers      = mutable.ArrayBuffer.empty[SimulatedWorker]

  // The monotonic clocks of two machines have nothing in common.
  private val clockStart = baton.between(1L << 30, 1L << 50)

  def isExecutor: Boolean = name.startsWith("executor")

  def isAlive: Boolean   = alive
  def isRunning: Boolean = alive && baton.now >= stillUntil

  /** All threads stand still, and the clocks go on: a long collection, or a stopped process. */
  def pause(nanos: Long): Unit = stillUntil = stillUntil.max(baton.now + nanos)

  /** The machine sleeps: afterwards the monotonic clock goes on where it was, and the wall clock shows the time. */
  def suspend(nanos: Long): Unit = if (isRunning) {
    pause(nanos)
    suspendedFor += nanos
  }

  /** The wall clock jumps, and is ahead or behind then by so much. */
  def setClock(wrongMillis: Long): Unit = wallMillis = epochMillis + wrongMillis

  /** As by SIGKILL: no thread does anything more. */
  def kill(): Unit = if (alive) {
    alive = false
    baton.bury(this)
  }

  /** By the monotonic clock, when the world's clock shows a time. */
  private[simulation] def localTime(world: Long): Long = world - suspendedFor + clockStart
  private[simulation] def worldTime(local: Long): Long =
    if (local >= Never) Never else local + suspendedFor - clockStart
  private[simulation] def runsAgainAt(world: Long) = world.max(stillUntil)

  /** Those that have not ended. */
  def threadNames: Vector[String] = baton.strandsOf(this).map(_.name).sorted

  /** Those of the engine, by the name of their worker. */
  def timers: Map[String, Int] = workers.iterator.filter(_.isOfEngine).map(w => w.name -> w.pending).toMap

  /** What is looked at for growth. */
  def sizes: Map[String, Int] =
    timers.map { case (worker, pending) => s"timers of $worker" -> pending } ++
      threadNames.groupMapReduce(name => s"threads of ${name.replaceAll("-\\d+$", "")}")(_ => 1)(_ + _)

  def log(what: String): Unit = trace.event(baton.now, name, what)

  /** What a thread, or work of a worker, ended with. From the engine's threads and those of RPC it is a failure of the world. */
  private[simulation] def ended(thread: String, failure: Throwable): Unit = {
    log(s"$thread: work ended with $failure")
    failure match {
      case _: InterruptedException | _: RejectedExecutionException        => ()
      case _ if thread.startsWith("kinesis-") || thread.startsWith("rpc") =>
        baton.fail(new SimulationFailure(s"work of $thread in $name ended with $failure", Some(failure)))
      case _ => ()
    }
  }

  val runtime: Runtime = {
    val clock: Clock = new Clock {
      override def nanos(): Long  = localTime(baton.now)
      override def millis(): Long = wallMillis + baton.now / 1000000
    }
    val waits = new Waits(clock) {
      override def await(monitor: AnyRef, nanos: Long): Unit = {
        val until = if (nanos >= Never) Never else clock.nanos() + nanos
        baton.current.await(monitor, until)
      }
      override def signal(monitor: AnyRef): Unit = baton.signal(monitor)
    }
    val ids = new Ids {
      override def uuid(): String   = new UUID(baton.random.nextLong(), baton.random.nextLong()).toString
      override def chance(): Double = baton.random.nextDouble()
    }
    new Runtime(clock, waits, ids, SimulatedWorkers)
  }

  private object SimulatedWorkers extends Workers {
    override def fixed(name: String, threads: Int): Worker = {
      val made = new SimulatedWorker(name, threads)
      workers += made
      made
    }

    override def growing(name: String): Executor = work => begin(name)(work.run())

    override def start(name: String)(work: => Unit): Unit = begin(name)(work)
  }

  private[simulation] def begin(name: String)(work: => Unit): Baton#Strand = baton.start(this, name)(work)

  /** A pool of threads with timers, as `ScheduledThreadPoolExecutor` is. */
  private final class SimulatedWorker(val name: String, most: Int) extends Worker {
    private val ready    = mutable.Queue.empty[() => Unit]
    private val timers   = mutable.TreeMap.empty[(Long, Long), () => Unit]
    private val threads  = mutable.ArrayBuffer.empty[Baton#Strand]
    private var numbers  = 0L
    private var isClosed = false

    def pending: Int        = timers.size
    def isOfEngine: Boolean = name.startsWith("kinesis-")

    override def execute(work: Runnable): Unit = {
      if (isClosed) throw new RejectedExecutionException(s"$name is closed")
      ready += (() => work.run())
      staff()
    }

    override def schedule(nanos: Long)(work: => Unit): Timer = {
      if (isClosed) throw new RejectedExecutionException(s"$name is closed")
      plan(nanos, new Due(() => work, None))
    }

    override def every(pause: FiniteDuration)(work: => Unit): Timer =
      plan(pause.toNanos, new Due(() => work, Some(pause.toNanos)))

    private def plan(nanos: Long, due: Due): Timer = {
      numbers += 1
      due.key = (runtime.clock.nanos() + nanos.max(0), numbers)
      timers(due.key) = due
      staff()
      due
    }

    private final class Due(work: () => Unit, pause: Option[Long]) extends Timer with (() => Unit) {
      var key               = (0L, 0L)
      private var cancelled = false

      override def apply(): Unit = if (!cancelled) {
        try work()
        finally pause.filter(_ => !cancelled && !isClosed).foreach(plan(_, this))
      }

      override def cancel(): Unit = {
        cancelled = true
        timers -= key
      }
    }

    private def staff(): Unit =
      if (threads.size < most) threads += baton.serve(Process.this, s"$name-${threads.size + 1}")(serve())
      else baton.signal(this)

    /** Does all that is due. */
    @annotation.tailrec
    private def serve(): Option[Baton.Rest] = {
      val now  = runtime.clock.nanos()
      val work =
        if (ready.nonEmpty) Some(ready.dequeue())
        else if (timers.nonEmpty && timers.firstKey._1 <= now) timers.remove(timers.firstKey)
        else None
      work match {
        case Some(work) =>
          try work()
          catch { case failure: Exception => ended(name, failure) }
          serve()
        case None => Option.unless(isClosed)(Baton.Rest(this, timers.headOption.fold(Never)(_._1._1)))
      }
    }

    override def close(): Unit = {
      isClosed = true
      workers -= this
      ready.clear()
      timers.clear()
      threads.foreach(_.interrupted())
    }
  }
}
