package io.github.kinesisspark.runtime

import java.util.concurrent.{ConcurrentHashMap, Executor, PriorityBlockingQueue, RejectedExecutionException}

import scala.concurrent.duration._

/** A process whose time passes faster than the machine's, and that can stand still: its threads do nothing then, while its clock runs. Time stands still for
  * all processes while work of one is queued or runs, unless that process stands still. So a busy machine makes a test longer, and hardly an answer late.
  *
  * @param speed how much faster
  */
final class FastRuntime(speed: Int) {
  import FastRuntime._

  private val jvm  = Runtime.ofJvm
  private val gate = new Object

  // Guarded by `gate`.
  private var standsStill = false
  private var works       = 0

  val clock: Clock = new Clock {
    override def nanos(): Long  = SmoothTime.nanos * speed
    override def millis(): Long = beganMillis + nanos() / 1000000
  }

  implicit val runtime: Runtime = {
    val waits = new Waits(clock) {
      override def await(monitor: AnyRef, nanos: Long): Unit = waiting {
        jvm.waits.await(monitor, (nanos / speed).max(1L))
      }
      override def signal(monitor: AnyRef): Unit = jvm.waits.signal(monitor)
    }
    new Runtime(clock, waits, jvm.ids, workers)
  }

  def pause(): Unit = gate.synchronized {
    if (!standsStill) SmoothTime.add(-works)
    standsStill = true
  }

  def resume(): Unit = gate.synchronized {
    if (standsStill) SmoothTime.add(works)
    standsStill = false
    gate.notifyAll()
  }

  private def count(more: Int): Unit = gate.synchronized {
    works += more
    if (!standsStill) SmoothTime.add(more)
  }

  private def workers = new Workers {
    override def fixed(name: String, threads: Int): Worker = new FastWorker(jvm.workers.fixed(name, threads))

    override def growing(name: String): Executor = {
      val threads = jvm.workers.growing(name)
      work => threads.execute(new Work(work.run()))
    }

    override def start(name: String)(work: => Unit): Unit = {
      val one = new Work(work)
      jvm.workers.start(name)(one.run())
    }
  }

  /** Work of a thread, which counts from when it is queued until it has ended, but for the time in which it waits.
    *
    * @param whenOver may be called twice
    */
  private final class Work(work: => Unit, whenOver: Work => Unit = _ => ()) extends Runnable {
    // Guarded by `this`.
    private var isWaiting = false
    private var isOver    = false

    count(1)

    override def run(): Unit = {
      current.set(this)
      try {
        gate.synchronized(while (standsStill) gate.wait())
        work
      } finally {
        current.remove()
        end()
      }
    }

    def end(): Unit = {
      change { isOver = true }
      whenOver(this)
    }

    def waiting(wait: => Unit): Unit = {
      change { isWaiting = true }
      try wait
      finally change { isWaiting = false }
    }

    private def change(state: => Unit): Unit = synchronized {
      val before = weight
      state
      count(weight - before)
    }

    private def weight = if (isWaiting || isOver) 0 else 1
  }

  private final class FastWorker(threads: Worker) extends Worker {
    @volatile private var isClosed = false

    // What is queued when the worker closes is dropped.
    private val open = ConcurrentHashMap.newKeySet[Work]()

    override def execute(work: Runnable): Unit = if (!isClosed) {
      val one = new Work(work.run(), open.remove(_): Unit)
      open.add(one)
      try threads.execute(one)
      catch { case _: RejectedExecutionException => one.end() }
    }

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
      open.forEach(_.end())
    }
  }
}

private object FastRuntime {
  private val beganMillis = System.currentTimeMillis()

  /** Of the thread. */
  private val current = new ThreadLocal[FastRuntime#Work]

  /** A thread that works for no process, as a test's own, doesn't count. */
  private def waiting(wait: => Unit): Unit = Option(current.get).fold(wait)(_.waiting(wait))
}

/** Time that passes as the machine's does, and not while the machine has no time for its thread. After each moment it stands still until all that is to be done
  * by then is done, or waits.
  */
private object SmoothTime {
  private val Tick   = 2L
  private val Most   = 3 * Tick * 1000000
  private val alarms = new PriorityBlockingQueue[Alarm]

  /** What blocks in another way than by [[Waits]] holds time for so long. */
  private val LongestRun = 10.seconds

  private val load = new Object

  // Guarded by `load`: how many works are queued or run, and how often there was none.
  private var works = 0
  private var rests = 0L

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

  def add(more: Int): Unit = load.synchronized {
    works += more
    if (works == 0) {
      rests += 1
      load.notifyAll()
    }
  }

  private def run(): Unit = {
    var last = System.nanoTime()
    while (true) {
      val rested = load.synchronized(rests)
      Thread.sleep(Tick)
      awaitRest(rested)
      val real = System.nanoTime()
      now += (real - last).min(Most)
      last = real
      while (Option(alarms.peek()).exists(_.at <= now)) alarms.poll().ring()
    }
  }

  /** New work may be queued all the time: one moment without any is enough. */
  private def awaitRest(since: Long): Unit = load.synchronized {
    val end = LongestRun.fromNow
    while (works > 0 && rests == since && end.hasTimeLeft()) load.wait(LongestRun.toMillis)
  }

  private final class Alarm(val at: Long, val ring: () => Unit) extends Comparable[Alarm] {
    override def compareTo(other: Alarm): Int = at.compare(other.at)
  }
}
