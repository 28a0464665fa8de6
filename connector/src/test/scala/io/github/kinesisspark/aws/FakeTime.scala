package io.github.kinesisspark.aws

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration.FiniteDuration

/** A clock that advances only when the code under test waits, and a random source that always returns 0.5. */
final class FakeTime(start: Long = 1_000_000L) {
  private var millis = start

  val waits: ListBuffer[FiniteDuration] = ListBuffer.empty

  val waiting: BlockingTime = BlockingTime(
    now = () => millis,
    nanos = () => millis * 1000000,
    chance = () => 0.5,
    sleep = d => {
      waits += d
      millis += d.toMillis
    }
  )
}
