package io.github.kinesisspark.runtime

import java.util.concurrent.{Executor, PriorityBlockingQueue}

import scala.concurrent.duration._

/** A process whose time passes faster than the machine's, and that can stand still: its threads do nothing then, while its clock runs. Where the machine
  * itself is too busy, time stands still for all of them.
  *
  * @param speed how much faster
  */
final class FastRuntime(speed: Int) {
  import FastRuntime._

  private val jvm                       = Runtime.ofJvm
  private val gate                      = new Object
  private var standsStill               = false
  private def pass(work: => Unit): Unit = {
    gate.synchronized(while (standsStill) gate.wait())
    work
  }

  val clock: Clock = new Clock {
    override def nanos(): Long  = SmoothTime.nanos * speed
    override def millis(): Long = beganMillis + nanos() / 1000000
  }

  implicit val runtime: Runtime = {
    val waits = new Waits(clock) {
      override def await(monitor: AnyRef, nanos: Long): Unit = jvm.waits.await(monitor, (nanos / speed).max(1L))
      override def signal(monitor: AnyRef): Unit             = jvm.waits.signal(monitor)
    }
    new Runtime(clock, waits, jvm.ids, workers)
  }

  def pause(): Unit = gate.synchronized { standsStill = true }

  def resume(): Unit = gate.synchronized {
    standsStill = false
    gate.notifyAll()
  }

  private def workers = new Workers {
    override def fixed(name: String, threads: Int): Worker = new FastWorker(jvm.workers.fixed(name, threads))

    override def growing(name: String): Executor = {
      val threads = jvm.workers.growing(name)
      work => threads.execute(() => pass(work.run()))
    }

    override def start(name: String)(work: => Unit): Unit = jvm.workers.start(name)(pass(work))
  }

  private final class FastWorker(threads: Worker) extends Worker {
    @volatile private var isClosed = false

    override def execute(work: Runnable): Unit = if (!isClosed) threads.execute(() => pass(work.run()))

    override def schedule(nanos: Long)(work: => Unit): Timer = SmoothTime.after(nanos / speed)(execute(() => work))

    override def every(pause: FiniteDuration)(work: => Unit): Timer = {
      @volatile var isOver = false
      def next(): Unit     = if (!isOver && !isClosed) schedule(pause.toNanos)(run()): Unit
      def run(): Unit      = if (!isOver) {
        try work
        finally next()
      }
      next()
      () => isOver = true
    }

    override def close(): Unit = {
      isClosed = true
      threads.close()
    }
  }
}

private object FastRuntime {
  private val beganMillis = System.currentTimeMillis()
}

/** Time that passes as the machine's does, and not while the machine has no time for its thread. */
private object SmoothTime {
  private val Tick   = 2L
  private val Most   = 3 * Tick * 1000000
  private val alarms = new PriorityBlockingQueue[Alarm]

  @volatile private var now = 0L

  {
    val thread = new Thread(() => run(), "smooth-time")
    thread.setDaemon(true)
    thread.start()
  }

  def nanos: Long = now

  def after(nanos: Long)(work: => Unit): Timer = {
    val alarm = new Alarm(now + nanos, () => work)
    alarms.add(alarm)
    () => alarms.remove(alarm): Unit
  }

  private def run(): Unit = {
    var last = System.nanoTime()
    while (true) {
      Thread.sleep(Tick)
      val real = System.nanoTime()
      now += (real - last).min(Most)
      last = real
      while (Option(alarms.peek()).exists(_.at <= now)) alarms.poll().ring()
    }
  }

  private final class Alarm(val at: Long, val ring: () => Unit) extends Comparable[Alarm] {
    override def compareTo(other: Alarm): Int = at.compare(other.at)
  }
}
