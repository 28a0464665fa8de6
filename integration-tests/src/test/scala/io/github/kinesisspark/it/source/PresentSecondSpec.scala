package io.github.kinesisspark.it.source

import java.time.{Duration, Instant}
import java.time.temporal.ChronoUnit

import io.github.kinesisspark.StreamPositions
import io.github.kinesisspark.position.OffsetJson
import io.github.kinesisspark.testkit.{ManualClock, MovableClock}

/** Tests timestamps within the current second: the service's clock has whole seconds, arrival times have
  * milliseconds.
  */
class PresentSecondSpec(clock: MovableClock) extends TestkitSuite(clock) {
  def this() = this(new ManualClock(Instant.now().truncatedTo(ChronoUnit.SECONDS).plusMillis(300)))

  it("a timestamp within the current second separates earlier from later records") {
    val stream = newStream(shards = 2)
    val early  = put(stream, "early", 20)
    clock.advance(Duration.ofMillis(200))
    val time = clock.instant
    val late = put(stream, "late", 20)
    texts(backfill(stream, "endingPosition" -> s"AT_TIMESTAMP:$time")).sorted shouldBe early.sorted
    texts(backfill(stream, "startingPosition" -> s"AT_TIMESTAMP:$time")).sorted shouldBe late.sorted
    val point = OffsetJson.write(StreamPositions.at(options(stream), time))
    texts(backfill(stream, "endingPosition" -> point)).sorted shouldBe early.sorted
    texts(backfill(stream, "startingPosition" -> point)).sorted shouldBe late.sorted
  }
}
