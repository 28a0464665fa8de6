package io.github.kinesisspark.runtime

import java.util.concurrent.{CompletableFuture, CountDownLatch, ExecutionException, TimeUnit, TimeoutException}

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.JvmRuntime.runtime

class RuntimeSpec extends AnyFunSpec with Matchers {
  describe("the time that retries and deadlines are measured by") {
    it("is the JVM's monotonic clock, which a corrected wall clock doesn't change") {
      val before = System.nanoTime()
      val now    = runtime.clock.nanos()
      val after  = System.nanoTime()
      now - before should be >= 0L
      after - now should be >= 0L
    }
  }

  describe("a thread that waits for a future") {
    it("gets its result, its failure, or a TimeoutException once its time is over") {
      val later = new CompletableFuture[String]
      runtime.timers.schedule(10.millis.toNanos)(later.complete("done"): Unit)
      runtime.waits.get(later, 1.minute) shouldBe "done"
      val cause  = new IllegalStateException("as planned")
      val failed = CompletableFuture.failedFuture[String](cause)
      intercept[ExecutionException](runtime.waits.get(failed, 1.minute)).getCause shouldBe cause
      a[TimeoutException] should be thrownBy runtime.waits.get(new CompletableFuture[String], 20.millis)
    }

    it("is interrupted at once") {
      val (began, ended) = (new CountDownLatch(1), new CountDownLatch(1))
      val waiting        = new Thread({ () =>
        began.countDown()
        try runtime.waits.get(new CompletableFuture[String], 1.hour): Unit
        catch { case _: InterruptedException => ended.countDown() }
      }: Runnable)
      waiting.start()
      began.await()
      waiting.interrupt()
      ended.await(1, TimeUnit.MINUTES) shouldBe true
    }
  }

  describe("a thread's work that throws") {
    it("leaves the thread with nothing, as Spark ends the executor otherwise") {
      val before = Thread.getDefaultUncaughtExceptionHandler
      val ended  = new CountDownLatch(4)
      var left   = Option.empty[Throwable]
      Thread.setDefaultUncaughtExceptionHandler((_, e) => left = Some(e))
      def fail(): Unit = {
        ended.countDown()
        throw new OutOfMemoryError("as planned")
      }
      val worker = runtime.workers.fixed("failing", 1)
      try {
        worker.execute(() => fail())
        worker.schedule(1)(fail())
        runtime.workers.growing("failing").execute(() => fail())
        runtime.workers.start("failing")(fail())
        ended.await(1, TimeUnit.MINUTES) shouldBe true
        val over = new CountDownLatch(1)
        worker.execute(() => over.countDown())
        over.await(1, TimeUnit.MINUTES) shouldBe true
        left shouldBe None
      } finally {
        Thread.setDefaultUncaughtExceptionHandler(before)
        worker.close()
      }
    }
  }

  describe("work that is repeated") {
    it("is done again after an Error") {
      val worker = runtime.workers.fixed("repeated", 1)
      val times  = new CountDownLatch(3)
      worker.every(1.milli) {
        times.countDown()
        throw new OutOfMemoryError("as planned")
      }
      times.await(1, TimeUnit.MINUTES) shouldBe true
      worker.close()
    }
  }

  describe("a lock that is tried") {
    it("is one thread's, until that frees it") {
      val lock = new TryLock
      lock.tryTake() shouldBe true
      lock.tryTake() shouldBe false
      lock.tryTake(20.millis) shouldBe false
      runtime.timers.schedule(10.millis.toNanos)(lock.free())
      lock.tryTake(1.minute) shouldBe true
    }
  }

  describe("a queue whose taker waits") {
    it("brings what comes meanwhile, in order, and nothing once its time is over") {
      val queue = new WaitingQueue[Int]
      queue.poll(20.millis) shouldBe None
      runtime.timers.schedule(10.millis.toNanos) {
        queue.put(1)
        queue.put(2)
      }
      queue.poll(1.minute) shouldBe Some(1)
      queue.poll(1.minute) shouldBe Some(2)
      queue.isEmpty shouldBe true
    }
  }
}
