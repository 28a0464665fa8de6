package io.github.kinesisspark.it.soak

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

/** The soak's short form: every kind of trouble once. */
final class SoakSpec extends AnyFunSpec with Matchers {

  it("every record is read once and in order, and nothing is left behind, whatever happens meanwhile") {
    // In two minutes, a heap that has not come to its size yet can't be told from one that grows a little.
    val settings = Soak.Settings(seed = 1, length = 75.seconds, interval = 5.seconds, heapSlack = 96 << 20)
    SoakEfo.run(settings).complaints shouldBe empty
  }
}
