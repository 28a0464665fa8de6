package io.github.kinesisspark.aws

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration.FiniteDuration

/** Time that passes only by waiting, and chance that is always the middle. */
final class FakeTime(start: Long = 1_000_000L) {
  private var millis = start

  val waits: ListBuffer[FiniteDuration] = ListBuffer.empty

  val waiting: Waiting = Waiting(
    now = () => millis,
    chance = () => 0.5,
    sleep = d => {
      waits += d
      millis += d.toMillis
    }
  )
}
