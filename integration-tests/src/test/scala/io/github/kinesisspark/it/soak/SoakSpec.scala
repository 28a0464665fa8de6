package io.github.kinesisspark.it.soak

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

/** The soak's short form: every kind of trouble once. */
final class SoakSpec extends AnyFunSpec with Matchers {

  it("every record is read once and in order, and nothing is left behind, whatever happens meanwhile") {
    SoakEfo.run(Soak.Settings(seed = 1, length = 75.seconds, interval = 10.seconds)).complaints shouldBe empty
  }
}
