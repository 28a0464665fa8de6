package io.github.kinesisspark.runtime

import java.util.concurrent.Executor

import scala.collection.mutable
import scala.concurrent.duration._
import scala.util.Random

/** A process whose time passes when a test says so, or when its one thread sleeps. What is due by then runs on that thread, in order.
  *
  * @param reading how long it takes to read the clock
  * @param chance  what is drawn each time; left out, at random
  */
final class VirtualTime(seed: Long = 1, reading: FiniteDuration = Duration.Zero, chance: Option[Double] = None) {
  private var nanos  = 0L
  private var number = 0L
  private val due    = mutable.PriorityQueue.empty[Due](Ordering.by[Due, (Long, Long)](d => (d.at, d.number)).reverse)
  private val random = new Random(seed)

  private final class Due(val at: Long, val number: Long, val work: () => Unit) extends Timer {
    private var isCancelled     = false
    override def cancel(): Unit = isCancelled = true
    def isToCome: Boolean       = !isCancelled
    def run(): Unit             = if (!isCancelled) work()
  }

  /** What is to come. */
  def pending: Int = due.count(_.isToCome)

  private def add(after: Long, work: () => Unit): Timer = {
    number += 1
    val one = new Due(nanos + after.max(0L), number, work)
    due.enqueue(one)
    one
  }

  def pass(time: FiniteDuration): Unit = {
    val until = nanos + time.toNanos
    while (due.headOption.exists(_.at <= until)) {
      val next = due.dequeue()
      nanos = next.at.max(nanos)
      next.run()
    }
    nanos = nanos.max(until)
  }

  def elapsed: FiniteDuration = nanos.nanos

  private object clock extends Clock {
    override def nanos(): Long = {
      VirtualTime.this.nanos += reading.toNanos
      VirtualTime.this.nanos
    }
    override def millis(): Long = VirtualTime.this.nanos / 1000000
  }

  private object waits extends Waits(clock) {
    override def await(monitor: AnyRef, nanos: Long): Unit = pass(nanos.nanos)
    override def signal(monitor: AnyRef): Unit             = ()
  }

  private object ids extends Ids {
    override def uuid(): String   = random.nextLong().toHexString
    override def chance(): Double = VirtualTime.this.chance.getOrElse(random.nextDouble())
  }

  private object worker extends Worker {
    override def execute(work: Runnable): Unit                      = add(0, () => work.run()): Unit
    override def schedule(nanos: Long)(work: => Unit): Timer        = add(nanos, () => work)
    override def every(pause: FiniteDuration)(work: => Unit): Timer = {
      var isCancelled  = false
      def next(): Unit = add(
        pause.toNanos,
        () =>
          if (!isCancelled) {
            work
            next()
          }
      ): Unit
      next()
      () => isCancelled = true
    }
    override def close(): Unit = ()
  }

  implicit val runtime: Runtime = new Runtime(
    clock,
    waits,
    ids,
    new Workers {
      override def fixed(name: String, threads: Int): Worker = worker
      override def growing(name: String): Executor           = worker
      override def start(name: String)(work: => Unit): Unit  = add(0, () => work): Unit
    }
  )
}
