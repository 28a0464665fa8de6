package io.github.kinesisspark.read.reader

import java.util.concurrent.{CountDownLatch, LinkedBlockingQueue, TimeUnit}

import scala.concurrent.{Future, Promise}
import scala.concurrent.duration._

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators.stream
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.reader.ReportSchedule.What

class ReportScheduleSpec extends AnyFunSpec with Matchers with BeforeAndAfterAll {
  private val worker = runtime.workers.fixed("report-schedule", 1)

  override protected def afterAll(): Unit = worker.close()

  private val Seq(one, two, three) = Seq("1", "2", "3").map(ShardKey(stream, _)): @unchecked

  /** What is sent, with the answers that a test gives. */
  private final class Driver {
    private val sent = new LinkedBlockingQueue[(What, Promise[Boolean])]
    val schedule     = new ReportSchedule(worker, send)

    private def send(what: What): Future[Boolean] = {
      val answer = Promise[Boolean]()
      sent.put(what -> answer)
      answer.future
    }

    def next(): (What, Promise[Boolean]) = Option(sent.poll(10, TimeUnit.SECONDS)).getOrElse(fail("no report was sent"))
    def nothing(): Boolean               = sent.isEmpty

    /** The driver has had a report of all readers. */
    def begun(): Driver = {
      schedule.change(Nil, isNews = true)
      val (first, accepted) = next()
      first.isOfAllReaders shouldBe true
      accepted.success(true)
      // The worker may still be where it sends that report, which is under way until then.
      val isOver = new CountDownLatch(1)
      worker.schedule(0L)(isOver.countDown())
      isOver.await(10, TimeUnit.SECONDS) shouldBe true
      this
    }
  }

  describe("reports of shard readers") {
    it("begin with one of all readers, and name only changed shards from then on") {
      val driver = new Driver().begun()
      driver.schedule.change(Seq(one), isNews = true)
      driver.next()._1 shouldBe What(Vector(one), isOfAllReaders = false, hasNews = true)
    }

    it("are sent one at a time, and the next has all changes since") {
      val driver = new Driver().begun()
      driver.schedule.change(Seq(one), isNews = true)
      val (_, accepted) = driver.next()
      driver.schedule.change(Seq(two), isNews = true)
      driver.schedule.change(Seq(three, two), isNews = false)
      driver.nothing() shouldBe true
      accepted.success(true)
      driver.next()._1.changed shouldBe Vector(two, three)
    }

    it("go along with an answer, with all changes before it, and name none of them again") {
      val driver = new Driver().begun()
      driver.schedule.setPause(1.hour)
      driver.schedule.change(Seq(one), isNews = true)
      driver.schedule.take(identity) shouldBe Some(What(Vector(one), isOfAllReaders = false, hasNews = true))
      driver.schedule.take(identity) shouldBe Some(What(Vector.empty, isOfAllReaders = false, hasNews = true))
      driver.nothing() shouldBe true
    }

    it("are followed by one of all readers if the one that goes along with an answer can't be made") {
      val driver = new Driver().begun()
      driver.schedule.setPause(1.hour)
      driver.schedule.change(Seq(one), isNews = true)
      an[OutOfMemoryError] should be thrownBy driver.schedule.take(_ => throw new OutOfMemoryError("for a test"))
      driver.next()._1.isOfAllReaders shouldBe true
    }

    it("are followed by one of all readers if the driver doesn't accept one, or it fails") {
      val driver = new Driver().begun()
      driver.schedule.change(Seq(one), isNews = true)
      driver.next()._2.success(false)
      val (second, failed) = driver.next()
      second.isOfAllReaders shouldBe true
      failed.failure(new java.io.IOException("the driver can't be reached"))
      driver.next()._1.isOfAllReaders shouldBe true
    }

    it("are followed by one of all readers if an Error is thrown while one is made") {
      val reported = new LinkedBlockingQueue[What]
      var attempts = 0
      val schedule = new ReportSchedule(
        worker,
        what => {
          attempts += 1
          if (attempts == 1) throw new OutOfMemoryError("for a test")
          reported.put(what)
          Future.successful(true)
        }
      )
      schedule.setPause(1.milli)
      schedule.change(Seq(one), isNews = true)
      Option(reported.poll(10, TimeUnit.SECONDS)).map(_.isOfAllReaders) shouldBe Some(true)
    }
  }
}
