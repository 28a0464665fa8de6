package io.github.kinesisspark.it.soak

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

/** The short form of the starts and stops. */
final class SoakStartsSpec extends AnyFunSpec with Matchers {

  it("queries that start and stop leave nothing behind") {
    SoakStarts.run(Starts.Settings(starts = 12, every = 2, heapSlack = 96 << 20)) shouldBe empty
  }
}
