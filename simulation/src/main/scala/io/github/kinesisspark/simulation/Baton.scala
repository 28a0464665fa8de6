package io.github.kinesisspark.simulation

import java.util.SplittableRandom

import scala.collection.mutable
import scala.util.control.ControlThrowable

/** Hands one baton among real threads: whoever has it runs, all others stand still. Who is next is drawn by the seed, and time moves only when
  * nobody can run. So a run depends on its seed alone.
  *
  * A strand gives the baton away where it waits, and nowhere else: between two waits it is alone. One that has not begun, or rests between two
  * pieces of work, has no thread: the thread that comes free goes on with it. The monitors of the code under test are real, and
  * nobody waits while holding one but the one that is waited for, so that none is ever contended.
  *
  * All state is of whoever has the baton. Threads pass it under the monitor on which the next one waits, which makes it visible there.
  */
final class Baton(seed: Long, trace: Trace, limits: Baton.Limits = Baton.Limits()) {
  import Baton._

  val random = new SplittableRandom(seed)

  private val strands = mutable.ArrayBuffer.empty[Strand]
  private val ready   = mutable.ArrayBuffer.empty[Strand]
  private val all     = mutable.ArrayBuffer.empty[Carrier]
  private val idle    = mutable.ArrayBuffer.empty[Carrier]
  private val events  = mutable.PriorityQueue.empty[Event](Ordering.by((e: Event) => (e.at, e.number)).reverse)
  private var made    = 0L
  private var time    = 0L
  private var turns   = 0L
  private var still   = 0
  private val result  = new Result

  /** Read by the watchdog, without the baton. */
  @volatile private var running: Option[Strand] = None
  @volatile private var passed                  = 0L
  @volatile private var isOver                  = false

  /** Is called when a thread of that process gives the baton away. It must neither wait nor change anything. */
  private[simulation] var afterTurn: Process => Unit = _ => ()

  /** In ns since the simulation began. */
  def now: Long = time

  /** How often the baton was passed. */
  def passes: Long = turns

  /** Something of the world, at a time. It is carried out by whoever has the baton then, so it must neither wait nor enter a monitor of the code
    * under test.
    */
  def at(nanos: Long)(work: => Unit): Unit = if (!isOver) {
    made += 1
    events += Event(nanos.max(time), made, () => work)
  }

  def after(nanos: Long)(work: => Unit): Unit = at(time + nanos)(work)

  /** From `low` on, below `high`. */
  def between(low: Long, high: Long): Long = if (high <= low) low else random.nextLong(low, high)

  def chance(share: Double): Boolean = random.nextDouble() < share

  def pick[A](all: IndexedSeq[A]): A = all(random.nextInt(all.size))

  /** A thread of a process; it begins when it gets the baton. */
  private[simulation] def start(process: Process, name: String)(work: => Unit): Strand = serve(process, name) {
    work
    None
  }

  /** A thread that does piece after piece.
    *
    * @param work does what there is to do; what the thread rests on then, or nothing where it ends
    */
  private[simulation] def serve(process: Process, name: String)(work: => Option[Rest]): Strand = {
    made += 1
    val strand = new Strand(made, process, name, () => work)
    if (!isOver) strands += strand
    strand
  }

  /** Runs all threads until `stop` is called or something fails, and ends them. Called by the one thread that has started the first strands.
    *
    * @throws SimulationFailure what failed
    */
  def run(): Unit = {
    val watchdog = new Watchdog
    watchdog.start()
    pass(None, None)
    try result.await()
    finally {
      isOver = true
      all.toVector.foreach(_.end())
    }
  }

  /** Ends the simulation as soon as the baton is passed. */
  def stop(): Unit = finish(None)

  /** Ends it for a failure. The first one counts. */
  def fail(failure: Throwable): Unit = finish(Some(failure))

  private def finish(failure: Option[Throwable]): Unit = {
    isOver = true
    result.put(failure)
  }

  /** Gives the baton to the next strand, which may be the same.
    *
    * @param free the calling thread, if it has nothing more to do
    */
  private def pass(from: Option[Strand], free: Option[Carrier]): Unit = {
    if (!isOver) running.foreach(strand => afterTurn(strand.process))
    val next = if (isOver) None else choose()
    passed += 1
    running = next
    next match {
      case Some(strand) =>
        turns += 1
        trace.turn(time, strand.number)
        if (!from.contains(strand)) strand.wake(free)
        else strand.hasBaton = true
      case None => result.put(Some(new SimulationFailure("nobody can run, now or later", None)))
    }
  }

  /** By loops: a world's threads are looked through at each turn. */
  @annotation.tailrec
  private def choose(): Option[Strand] = {
    ready.clear()
    var i = 0
    while (i < strands.size) {
      if (strands(i).canRun) ready += strands(i)
      i += 1
    }
    if (ready.nonEmpty) {
      still += 1
      if (still > limits.turnsAtOnce)
        fail(new SimulationFailure(s"time stands still: ${limits.turnsAtOnce} turns at ${time / 1000000} ms", None))
      if (isOver) None else Some(ready(random.nextInt(ready.size)))
    } else {
      var next = if (events.isEmpty) Never else events.head.at
      i = 0
      while (i < strands.size) {
        next = next.min(strands(i).wakesAt)
        i += 1
      }
      if (next >= Never) None
      else {
        if (next > time) {
          time = next
          still = 0
        }
        while (events.nonEmpty && events.head.at <= time) events.dequeue().work()
        if (isOver) None else choose()
      }
    }
  }

  private[simulation] def strandsOf(process: Process): Vector[Strand] =
    strands.iterator.filter(_.process eq process).toVector

  /** The process never runs again; its threads end with the simulation. */
  private[simulation] def bury(process: Process): Unit = strands.filterInPlace(_.process ne process)

  /** A real thread, which runs one strand after the other. */
  private final class Carrier extends Thread("simulation") {
    setDaemon(true)
    private var next                             = Option.empty[Strand]
    @volatile private var strand                 = Option.empty[Strand]
    private[Baton] def isOf(of: Strand): Boolean = strand.contains(of)

    // An interrupt of another thread is an event of the simulation as all others.
    override def interrupt(): Unit =
      if (Thread.currentThread eq this) super.interrupt() else strand.foreach(_.interrupted())

    /** To be run next: at once where the thread is idle, or when it is done with what it runs. */
    def give(one: Strand): Unit =
      if (Thread.currentThread eq this) next = Some(one)
      else
        synchronized {
          next = Some(one)
          notifyAll()
        }

    override def run(): Unit =
      try
        while (!isOver) {
          synchronized(while (next.isEmpty && !isOver) wait())
          strand = next
          next = None
          strand.filter(_ => !isOver).foreach { one =>
            setName(one.toString)
            one.run(this)
          }
          strand = None
        }
      catch { case _: InterruptedException | _: Ended => () }

    /** After the simulation: whatever waits is thrown out of its wait. */
    def end(): Unit = {
      super.interrupt()
      join(EndMillis)
    }
  }

  private def carrier(): Carrier =
    if (idle.nonEmpty) idle.remove(idle.size - 1)
    else {
      val made = new Carrier
      all += made
      made.start()
      made
    }

  /** A thread under the baton, as the code under test sees it. Its fields are of whoever has that. */
  private[simulation] final class Strand(
      val number: Long,
      val process: Process,
      val name: String,
      work: () => Option[Rest]
  ) {
    private val begin           = new Object
    private[Baton] var hasBaton = false
    private var waitsOn: AnyRef = begin
    private var deadline        = Never
    private var isSignalled     = true
    private var isInterrupted   = false
    private var isResting       = true
    private var endings         = 0
    private val title           = s"${process.name} $name"

    @volatile private var carrier = Option.empty[Carrier]

    private[simulation] def canRun: Boolean =
      process.isRunning && (isSignalled || process.worldTime(deadline) <= time)

    /** When it can run if nothing happens. */
    private[simulation] def wakesAt: Long =
      if (!process.isAlive) Never
      else process.runsAgainAt(if (isSignalled) time else process.worldTime(deadline))

    private[simulation] def isOf(thread: Thread): Boolean = carrier.exists(_ eq thread)

    private[simulation] def where: Seq[StackTraceElement] =
      carrier.fold(Seq.empty[StackTraceElement])(_.getStackTrace.toSeq)
    // Without a thread of its own it is done, and gives the baton away.
    private[simulation] def state: Thread.State = carrier.fold(Thread.State.RUNNABLE)(_.getState)

    override def toString: String = title

    private[Baton] def wake(free: Option[Carrier]): Unit = if (isResting) {
      isResting = false
      hasBaton = true
      val on = free.getOrElse(Baton.this.carrier())
      carrier = Some(on)
      on.give(this)
    } else {
      idle ++= free
      val monitor = waitsOn
      monitor.synchronized {
        hasBaton = true
        monitor.notifyAll()
      }
    }

    private[simulation] def signalled(monitor: AnyRef): Unit = if (waitsOn eq monitor) isSignalled = true

    private[simulation] def interrupted(): Unit = {
      isInterrupted = true
      isSignalled = true
    }

    /** As `Object.wait`: the thread of this strand holds the monitor.
      *
      * @param until by the clock of the process
      */
    private[simulation] def await(monitor: AnyRef, until: Long): Unit = {
      if (isOver) stopHere()
      if (Thread.interrupted() || isInterrupted) {
        isInterrupted = false
        throw new InterruptedException
      }
      waitsOn = monitor
      deadline = until
      isSignalled = false
      hasBaton = false
      pass(Some(this), None)
      while (!hasBaton && !isOver) waitFor(monitor)
      if (isOver) stopHere()
      resumed()
      if (isInterrupted) {
        isInterrupted = false
        throw new InterruptedException
      }
    }

    private def resumed(): Unit = {
      waitsOn = begin
      deadline = Never
      isSignalled = true
    }

    private def waitFor(monitor: AnyRef): Unit =
      try monitor.wait()
      catch { case _: InterruptedException => isInterrupted = true }

    private def stopHere(): Nothing = {
      endings += 1
      // Code that catches everything and waits again is left alone in the end.
      if (endings > MostEndings) begin.synchronized(while (true) begin.wait())
      throw new Ended
    }

    /** Until it rests or ends; then the baton goes on. */
    private[Baton] def run(on: Carrier): Unit = {
      resumed()
      isInterrupted = false
      Thread.interrupted()
      val rest =
        try work()
        catch {
          case ended: Ended       => throw ended
          case failure: Throwable =>
            if (!isOver) process.ended(name, failure)
            None
        }
      if (isOver) throw new Ended
      carrier = None
      rest match {
        case Some(Rest(monitor, until)) =>
          waitsOn = monitor
          deadline = until
          isSignalled = false
          isResting = true
        case None => strands -= this
      }
      pass(None, Some(on))
    }
  }

  /** The strand of the calling thread. */
  private[simulation] def current: Strand = running.filter(_.isOf(Thread.currentThread)).getOrElse {
    if (isOver) throw new Ended
    throw new IllegalStateException(s"${Thread.currentThread} waits, and is none of the simulation's threads")
  }

  private[simulation] def signal(monitor: AnyRef): Unit = if (!isOver) {
    var i = 0
    while (i < strands.size) {
      strands(i).signalled(monitor)
      i += 1
    }
  }

  /** Ends the simulation where the thread with the baton blocks, or runs without end. In real time. */
  private final class Watchdog extends Thread("simulation-watchdog") {
    setDaemon(true)

    override def run(): Unit = {
      var seen    = -1L
      var blocked = 0
      var looks   = 0
      while (!isOver) {
        Thread.sleep(LookMillis)
        val now = passed
        if (now != seen) {
          seen = now
          blocked = 0
          looks = 0
        } else {
          looks += 1
          running.foreach { strand =>
            blocked = if (strand.state == Thread.State.RUNNABLE) 0 else blocked + 1
            if (blocked >= limits.blockedLooks) give(strand, "blocks outside of Waits")
            else if (looks >= limits.busyLooks) give(strand, "runs without end")
          }
        }
      }
    }

    private def give(strand: Strand, what: String): Unit =
      fail(new SimulationFailure(s"$strand $what:\n${strand.where.take(25).mkString("  at ", "\n  at ", "")}", None))
  }
}

object Baton {

  /** Past the end of all simulations. */
  val Never: Long = Long.MaxValue / 4

  /** @param turnsAtOnce  turns without time moving, after which the threads are taken to wake each other without end
    * @param blockedLooks looks of the watchdog, one each 100 ms, that find the thread with the baton blocked
    * @param busyLooks    the same for one that runs
    */
  final case class Limits(turnsAtOnce: Int = 200000, blockedLooks: Int = 150, busyLooks: Int = 200)

  private val LookMillis  = 100L
  private val EndMillis   = 500L
  private val MostEndings = 50

  /** @param until by the clock of the process */
  private[simulation] final case class Rest(monitor: AnyRef, until: Long)

  private final case class Event(at: Long, number: Long, work: () => Unit)

  /** Ends a thread when its simulation is over. */
  private final class Ended extends ControlThrowable

  private final class Result {
    private var known = Option.empty[Option[Throwable]]

    def put(failure: Option[Throwable]): Unit = synchronized {
      if (known.isEmpty) known = Some(failure)
      notifyAll()
    }

    def await(): Unit = synchronized {
      while (known.isEmpty) wait()
      known.flatten.foreach(throw _)
    }
  }
}

/** What a simulation ends with when something isn't as it must be. */
final class SimulationFailure(what: String, cause: Option[Throwable]) extends Exception(what, cause.orNull)

/** What has happened. Its hash takes in every turn of the baton, so that two runs with the same hash were the same.
  *
  * @param show gets each event at once, as time in ms, process and event
  */
final class Trace(show: (Long, String, String) => Unit = (_, _, _) => ()) {
  private var sum  = 0xcbf29ce484222325L
  private val last = mutable.ArrayDeque.empty[(Long, String, String)]

  def hash: String = f"$sum%016x"

  def turn(time: Long, strand: Long): Unit = {
    mix(time)
    mix(strand)
  }

  def event(time: Long, process: String, what: String): Unit = {
    mix(time)
    what.foreach(c => mix(c.toLong))
    last += ((time / 1000000, process, what))
    if (last.size > Trace.Kept) last.removeHead()
    show(time / 1000000, process, what)
  }

  /** The latest events. */
  def table: String =
    last.iterator.map { case (millis, process, what) => Trace.line(millis, process, what) }.mkString("\n")

  private def mix(value: Long): Unit = {
    sum ^= value
    sum *= 0x100000001b3L
  }
}

object Trace {
  def line(millis: Long, process: String, what: String): String = f"${millis / 1000.0}%10.3f  $process%-14s  $what"

  private val Kept = 400
}
