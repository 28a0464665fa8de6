package io.github.kinesisspark.read.reader

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.FakeTime

class StartScheduleSpec extends AnyFunSpec with Matchers {
  it("the start schedule lets 10,000 readers start within 50 seconds, in order and at most 200 per second") {
    val time     = new FakeTime
    val schedule = StartSchedule.ofReaders(time.runtime)
    val now      = time.runtime.clock.nanos()
    val starts   = Vector.fill(10000)((schedule.next() - now).nanos)
    starts.head shouldBe Duration.Zero
    starts shouldBe starts.sorted
    starts.last should be < 50.seconds
    all(starts.groupBy(_.toSeconds).values.map(_.size)) should be <= 200
  }

  it("the start schedule lets a late single reader start at once, and saves no unused starts") {
    val time     = new FakeTime
    val schedule = StartSchedule.ofReaders(time.runtime)
    schedule.next(): Unit
    time.runtime.waits.sleep(1.minute)
    val later = time.runtime.clock.nanos()
    Vector.fill(3)(schedule.next() - later) shouldBe Vector(0, 5, 10).map(_.millis.toNanos)
  }
}
