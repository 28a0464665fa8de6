package io.github.kinesisspark.aws

import java.util.concurrent.{CountDownLatch, Executors, TimeUnit}
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import org.scalatest.funsuite.AnyFunSuite

import scala.concurrent.duration._

import io.github.kinesisspark.EventuallyInAMinute
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.runtime.{Timer, Worker}

class SharedPoolTest extends AnyFunSuite with EventuallyInAMinute {

  private final class Thing(val key: String) extends AutoCloseable {
    val closes                 = new AtomicInteger
    val closedOn               = new AtomicReference[String]
    override def close(): Unit = { closedOn.set(Thread.currentThread.getName); closes.incrementAndGet(); () }
  }

  private val closer = runtime.workers.fixed("kinesis-client-closer", 1)

  private def pool(idle: FiniteDuration) = new SharedPool[String, Thing](new Thing(_), idle, closer)

  test("leases of equal keys share a value, leases of other keys don't") {
    val things    = pool(1.minute)
    val (a, b, c) = (things.lease("a"), things.lease("a"), things.lease("c"))
    assert((a.value eq b.value) && !(a.value eq c.value))
  }

  test("the end of the last lease closes the value on the closer's thread") {
    val things = pool(10.millis)
    val (a, b) = (things.lease("a"), things.lease("a"))
    val thing  = a.value
    a.close()
    a.close()
    Thread.sleep(60)
    assert(thing.closes.get == 0 && (b.value eq thing))
    b.close()
    eventually(assert(thing.closes.get == 1))
    assert(thing.closedOn.get == "kinesis-client-closer-1" && things.size == 0)
    assert(!(things.lease("a").value eq thing))
  }

  test("leases that come and go leave one timer behind") {
    val timers         = new AtomicInteger
    val worker: Worker = new Worker {
      override def execute(work: Runnable): Unit                      = work.run()
      override def every(pause: FiniteDuration)(work: => Unit): Timer = throw new UnsupportedOperationException
      override def close(): Unit                                      = ()
      override def schedule(nanos: Long)(work: => Unit): Timer        = {
        timers.incrementAndGet()
        () => timers.decrementAndGet(): Unit
      }
    }
    val things = new SharedPool[String, Thing](new Thing(_), 1.minute, worker)
    (1 to 100).foreach(_ => things.lease("a").close())
    assert(timers.get == 1)
  }

  test("a lease taken before the delayed close keeps the value open") {
    val things = pool(1.milli)
    val first  = things.lease("a")
    val thing  = first.value
    // The closer's only thread is held until the second lease is there, however late that is.
    val taken = new CountDownLatch(1)
    closer.execute(() => taken.await())
    first.close()
    val second = things.lease("a")
    taken.countDown()
    // Comes after what was to close the thing.
    val after = new CountDownLatch(1)
    closer.schedule(50.millis.toNanos)(after.countDown())
    after.await()
    assert((second.value eq thing) && thing.closes.get == 0)
    second.close()
    eventually(assert(thing.closes.get == 1))
  }

  test("a closed lease throws on access to its value") {
    val lease = pool(1.minute).lease("a")
    lease.close()
    intercept[IllegalStateException](lease.value)
  }

  test("a value whose creation failed is created by the next lease") {
    val tries  = new AtomicInteger
    val things = new SharedPool[String, Thing](
      k => if (tries.incrementAndGet() == 1) sys.error("no") else new Thing(k),
      1.minute,
      closer
    )
    intercept[RuntimeException](things.lease("a"))
    assert(things.lease("a").value.key == "a")
  }

  test("a value whose creation takes long holds up leases of its own key alone") {
    val begun, over = new CountDownLatch(1)
    val things      = new SharedPool[String, Thing](
      key => {
        if (key == "slow") {
          begun.countDown()
          over.await()
        }
        new Thing(key)
      },
      1.minute,
      closer
    )
    val threads = Executors.newFixedThreadPool(3)
    try {
      val slow = Seq.fill(2)(threads.submit(() => things.lease("slow")))
      begun.await()
      threads.submit(() => things.lease("a")).get(10, TimeUnit.SECONDS).value.key
      assert(slow.forall(!_.isDone))
      over.countDown()
      val Seq(one, two) = slow.map(_.get(10, TimeUnit.SECONDS).value): @unchecked
      assert(one eq two)
    } finally {
      over.countDown()
      threads.shutdown()
    }
  }

  test("under concurrent leases each value is closed once, and never while it is leased") {
    val things  = pool(1.milli)
    val made    = new java.util.concurrent.ConcurrentHashMap[Thing, java.lang.Boolean]
    val threads = Executors.newFixedThreadPool(8)
    val done    = new CountDownLatch(8)
    val wrong   = new AtomicInteger
    for (_ <- 1 to 8) threads.execute { () =>
      for (i <- 1 to 300) {
        val lease = things.lease((i % 3).toString)
        made.put(lease.value, true)
        if (i % 7 == 0) Thread.sleep(1)
        if (lease.value.closes.get > 0) wrong.incrementAndGet()
        lease.close()
      }
      done.countDown()
    }
    assert(done.await(120, TimeUnit.SECONDS))
    threads.shutdown()
    eventually {
      assert(things.size == 0)
      made.keySet.forEach(thing => assert(thing.closes.get == 1))
    }
    assert(wrong.get == 0)
  }
}
