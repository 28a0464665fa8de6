package io.github.kinesisspark.read.realtime

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.read.realtime.KinesisRealTimeStream.Starving

class StarvingSpec extends AnyFunSpec with Matchers {
  private val began = -5L // What System.nanoTime is counted from is no time of its own, so it may be negative.

  it("is lasting after three batches, if they have taken half a minute") {
    val third = Starving(1, began).more.more
    third.isLasting(began + 30.seconds.toNanos) shouldBe true
    third.isLasting(began + 29.seconds.toNanos) shouldBe false
    Starving(1, began).more.isLasting(began + 1.hour.toNanos) shouldBe false
  }
}
