package io.github.kinesisspark.simulation

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

/** Spark's `processAllAvailable()`, as the simulation has it. */
class ProgressSpec extends AnyFunSpec with Matchers {

  /** A program calls after a second. */
  private final class Setting {
    private val trace      = new Trace
    private val baton      = new Baton(1, trace)
    private val driver     = new Process("driver", baton, trace, 0)
    private val waits      = driver.runtime.waits
    private var isAnswered = Option.empty[Boolean]
    private var answeredAt = 0L
    val progress           = new Progress(waits)
    var seen               = Vector.empty[Boolean]

    def sleep(seconds: Long): Unit = waits.sleep(seconds.seconds)

    /** Plans for two seconds, and rests for one. */
    def plan(isNew: Boolean): Unit = {
      progress.locked {
        sleep(2)
        seen :+= progress.showsCallers
        progress.planned(isNew)
      }
      sleep(1)
    }

    /** What the query's thread does.
      *
      * @return what the program's call returned, and after how many seconds
      */
    def run(query: => Unit): (Option[Boolean], Long) = {
      driver.begin("query")(query)
      driver.begin("program") {
        sleep(1)
        isAnswered = Some(progress.processAllAvailable())
        answeredAt = baton.now.nanos.toSeconds
      }
      baton.at(1.minute.toNanos)(baton.stop())
      baton.run()
      (isAnswered, answeredAt)
    }
  }

  describe("a program that waits until all is processed") {
    it("is answered by a planning that begins after its call and finds nothing") {
      val its = new Setting
      its.run(Seq(false, true, false).foreach(its.plan)) shouldBe (Some(true) -> 8)
    }

    it("is seen by the thread that plans, until it is answered") {
      val its = new Setting
      its.run((1 to 3).foreach(_ => its.plan(isNew = false))): Unit
      its.seen shouldBe Vector(true, true, false)
    }

    it("is not answered by a run that ends") {
      val its = new Setting
      its.run {
        its.sleep(5)
        its.progress.end()
      } shouldBe (Some(false) -> 5)
    }
  }
}
