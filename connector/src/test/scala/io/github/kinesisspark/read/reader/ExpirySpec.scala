package io.github.kinesisspark.read.reader

import java.util.concurrent.{CountDownLatch, Executor}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.EventuallyInAMinute
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.runtime.{Runtime, Worker, Workers}

class ExpirySpec extends AnyFunSpec with Matchers with EventuallyInAMinute {
  describe("closing readers whose query is gone") {
    it("does not keep the thread that looks for them, however long it takes") {
      val open               = new CountDownLatch(1)
      @volatile var closedBy = Option.empty[Thread]
      new Expiry(() => Vector { () => open.await(); closedBy = Some(Thread.currentThread) }).run()
      closedBy shouldBe None
      open.countDown()
      eventually(closedBy.getOrElse(Thread.currentThread) should not be Thread.currentThread)
    }

    it("closes the next time what no thread could be started for") {
      @volatile var closed = 0
      var expired          = Vector[AutoCloseable](() => closed += 1)
      var starts           = 0
      val workers          = new Workers {
        override def fixed(name: String, threads: Int): Worker = runtime.workers.fixed(name, threads)
        override def growing(name: String): Executor           = runtime.workers.growing(name)
        override def start(name: String)(work: => Unit): Unit  = {
          starts += 1
          if (starts == 1) throw new OutOfMemoryError("unable to create native thread")
          work
        }
      }
      val expiry = new Expiry(() => {
        val all = expired
        expired = Vector.empty
        all
      })(new Runtime(runtime.clock, runtime.waits, runtime.ids, workers))
      expiry.run()
      closed shouldBe 0
      expiry.run()
      closed shouldBe 1
    }

    it("continues with the others and the next time, whatever is thrown") {
      @volatile var closed = 0
      var looks            = 0
      val expiry           = new Expiry(() => {
        looks += 1
        if (looks == 1) throw new LinkageError("a class is missing")
        Vector(() => throw new StackOverflowError, () => closed += 1)
      })
      expiry.run()
      expiry.run()
      eventually(closed shouldBe 1)
    }
  }
}
