package io.github.kinesisspark.testkit.subscription

import io.github.kinesisspark.testkit.{ManualClock, ServiceClock}
import org.scalatest.BeforeAndAfterEach
import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.time.{Millis, Seconds, Span}

import java.time.Duration
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

class TimetableSpec extends AnyFunSpec with Matchers with Eventually with BeforeAndAfterEach {

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(20, Seconds), Span(5, Millis))

  private val table = new AtomicReference[Timetable]

  private def on(clock: ServiceClock): Timetable = { table.set(new Timetable(clock)); table.get }

  override protected def afterEach(): Unit = table.get.close()

  /** Counts rings. */
  private class Bell extends Runnable {
    val rung        = new AtomicInteger
    def run(): Unit = { rung.incrementAndGet(); () }
  }

  it("an alarm on a manual clock rings once when the clock reaches its time") {
    val clock          = ManualClock()
    val time           = on(clock)
    val (early, later) = (new Bell, new Bell)
    time.at(clock.millis + 100)(early)
    val alarm = time.at(clock.millis + 101)(later)
    clock.advance(Duration.ofMillis(100))
    eventually(early.rung.get shouldBe 1)
    alarm.isSet shouldBe true
    clock.advance(Duration.ofMillis(100))
    eventually(later.rung.get shouldBe 1)
    alarm.isSet shouldBe false
    clock.advance(Duration.ofMillis(100))
    early.rung.get shouldBe 1
  }

  it("an alarm on a shifted clock rings in time, and at once if the clock is advanced") {
    val clock       = ServiceClock.shifted()
    val time        = on(clock)
    val (soon, far) = (new Bell, new Bell)
    time.at(clock.millis + 20)(soon)
    time.at(clock.millis + 3600000)(far)
    eventually(soon.rung.get shouldBe 1)
    far.rung.get shouldBe 0
    clock.advance(Duration.ofHours(1))
    eventually(far.rung.get shouldBe 1)
  }

  it("an alarm on a shifted clock rings in time after the clock was advanced to shortly before") {
    val clock = ServiceClock.shifted()
    val bell  = new Bell
    on(clock).at(clock.millis + 3600000)(bell)
    clock.advance(Duration.ofMillis(3599500))
    eventually(bell.rung.get shouldBe 1)
  }

  it("an alarm for a past time rings at once, and a cancelled one never") {
    val clock     = ManualClock()
    val time      = on(clock)
    val (at, not) = (new Bell, new Bell)
    time.at(clock.millis + 10)(not).cancel()
    clock.advance(Duration.ofMillis(10))
    time.at(clock.millis)(at)
    eventually(at.rung.get shouldBe 1)
    not.rung.get shouldBe 0
  }
}
