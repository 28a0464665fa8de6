package io.github.kinesisspark.read.reader

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class StartScheduleSpec extends AnyFunSpec with Matchers {
  private val Now = System.nanoTime() + 1.hour.toNanos

  it("the start schedule lets 10,000 readers start within 50 seconds, in order and at most 200 per second") {
    val schedule = StartSchedule.ofReaders
    val starts   = Vector.fill(10000)((schedule.next(Now) - Now).nanos)
    starts.head shouldBe Duration.Zero
    starts shouldBe starts.sorted
    starts.last should be < 50.seconds
    all(starts.groupBy(_.toSeconds).values.map(_.size)) should be <= 200
  }

  it("the start schedule lets a late single reader start at once, and saves no unused starts") {
    val schedule = StartSchedule.ofReaders
    schedule.next(Now): Unit
    val later = Now + 1.minute.toNanos
    Vector.fill(3)(schedule.next(later) - later) shouldBe Vector(0, 5, 10).map(_.millis.toNanos)
  }
}
