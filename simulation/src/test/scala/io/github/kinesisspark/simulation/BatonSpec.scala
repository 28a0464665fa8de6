package io.github.kinesisspark.simulation

import java.util.concurrent.CountDownLatch

import scala.collection.mutable
import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

/** Threads, clocks and processes of the simulation, without the engine. */
class BatonSpec extends AnyFunSpec with Matchers {

  /** A world of two processes. What is recorded has the time in ms. */
  private final class Setting(seed: Long = 1, limits: Baton.Limits = Baton.Limits()) {
    val trace    = new Trace
    val baton    = new Baton(seed, trace, limits)
    val one      = new Process("one", baton, trace, 0)
    val two      = new Process("two", baton, trace, 0)
    val recorded = mutable.ArrayBuffer.empty[(Long, String)]

    def record(what: String): Unit = recorded += ((baton.now / 1000000, what))

    /** Ends after a minute. */
    def run(): Vector[(Long, String)] = {
      baton.at(1.minute.toNanos)(baton.stop())
      baton.run()
      recorded.toVector
    }
  }

  describe("a simulation") {
    it("moves time only when all threads wait, and then to the next deadline") {
      val its = new Setting
      Seq(its.one -> 30, its.two -> 10).foreach { case (process, seconds) =>
        process.runtime.workers.start("sleeper") {
          process.runtime.waits.sleep(seconds.seconds)
          its.record(process.name)
        }
      }
      its.run() shouldBe Vector((10000, "two"), (30000, "one"))
    }

    it("wakes a thread by a signal, without waiting for the deadline") {
      val its     = new Setting
      val monitor = new Object
      var isThere = false
      val runtime = its.one.runtime
      runtime.workers.start("waiter") {
        val found = monitor.synchronized(runtime.waits.until(monitor, 40.seconds)(isThere))
        its.record(s"found $found")
      }
      runtime.workers.start("signaller") {
        runtime.waits.sleep(5.seconds)
        monitor.synchronized {
          isThere = true
          runtime.waits.signal(monitor)
        }
      }
      its.run() shouldBe Vector((5000, "found true"))
    }

    it("takes the order of threads from the seed alone") {
      def order(seed: Long) = {
        val its = new Setting(seed)
        (1 to 8).foreach(i => its.one.runtime.workers.start(s"thread $i")(its.record(i.toString)))
        (its.run(), its.trace.hash)
      }
      order(1) shouldBe order(1)
      (1L to 5L).map(order).distinct.size should be > 1
    }

    it("runs the work of a pool, timers and repeated work, and drops what is cancelled") {
      val its    = new Setting
      val worker = its.one.runtime.workers.fixed("pool", 2)
      its.one.runtime.workers.start("main") {
        worker.execute(() => its.record("work"))
        worker.schedule(3.seconds.toNanos)(its.record("timer"))
        worker.schedule(4.seconds.toNanos)(its.record("never")).cancel()
        val every = worker.every(10.seconds)(its.record("again"))
        its.one.runtime.waits.sleep(25.seconds)
        every.cancel()
      }
      its.run() shouldBe Vector((0, "work"), (3000, "timer"), (10000, "again"), (20000, "again"))
    }

    it("interrupts a waiting thread in its turn") {
      val its = new Setting
      its.one.runtime.workers.start("main") {
        val worker = its.one.runtime.workers.fixed("pool", 1)
        worker.execute { () =>
          try its.one.runtime.waits.sleep(50.seconds)
          catch { case _: InterruptedException => its.record("interrupted") }
        }
        its.one.runtime.waits.sleep(2.seconds)
        worker.close()
      }
      its.run() shouldBe Vector((2000, "interrupted"))
    }

    it("fails, and names the thread, where a thread blocks outside of Waits") {
      val its = new Setting(limits = Baton.Limits(blockedLooks = 3))
      its.one.runtime.workers.start("culprit")(new CountDownLatch(1).await())
      val failure = the[SimulationFailure] thrownBy its.run()
      failure.getMessage should (include("one culprit blocks outside of Waits") and include("CountDownLatch"))
    }

    it("fails where work on a thread of the engine ends with an exception") {
      for (name <- Seq("kinesis-pool", "rpc", "kinesis-thread")) {
        val its          = new Setting
        def work(): Unit = throw new IllegalStateException("wrong")
        if (name == "kinesis-thread") its.one.runtime.workers.start(name)(work())
        else its.one.runtime.workers.fixed(name, 1).every(1.second)(work())
        (the[SimulationFailure] thrownBy its.run()).getMessage should include(s"work of $name in one ended with")
      }
    }

    it("fails where threads wake each other without end and time stands still") {
      val its     = new Setting(limits = Baton.Limits(turnsAtOnce = 1000))
      val monitor = new Object
      (1 to 2).foreach { i =>
        its.one.runtime.workers.start(s"thread $i") {
          while (true) monitor.synchronized {
            its.one.runtime.waits.signal(monitor)
            its.one.runtime.waits.await(monitor, 1.second.toNanos)
          }
        }
      }
      (the[SimulationFailure] thrownBy its.run()).getMessage should include("time stands still")
    }
  }

  describe("a process") {
    def sleeper(its: Setting): Unit = its.one.runtime.workers.start("sleeper") {
      val began = its.one.runtime.clock.nanos()
      val wall  = its.one.runtime.clock.millis()
      its.one.runtime.waits.sleep(10.seconds)
      val lasted = (its.one.runtime.clock.nanos() - began).nanos.toSeconds
      its.record(s"after ${lasted}s, by the wall clock ${(its.one.runtime.clock.millis() - wall) / 1000}s")
    }

    it("that is paused runs late, and its clocks go on") {
      val its = new Setting
      sleeper(its)
      its.baton.at(5.seconds.toNanos)(its.one.pause(20.seconds.toNanos))
      its.run() shouldBe Vector((25000, "after 25s, by the wall clock 25s"))
    }

    it("that is suspended runs late, and its monotonic clock stands still meanwhile") {
      val its = new Setting
      sleeper(its)
      its.baton.at(5.seconds.toNanos)(its.one.suspend(20.seconds.toNanos))
      its.run() shouldBe Vector((30000, "after 10s, by the wall clock 30s"))
    }

    it("that is killed does nothing more") {
      val its = new Setting
      sleeper(its)
      its.baton.at(5.seconds.toNanos)(its.one.kill())
      its.run() shouldBe empty
    }
  }
}
