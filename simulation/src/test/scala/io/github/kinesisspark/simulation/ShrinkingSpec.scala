package io.github.kinesisspark.simulation

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class ShrinkingSpec extends AnyFunSpec with Matchers {
  import Strike.Kind._

  private val large = (1L to 1000L).iterator
    .map(Plan.of)
    .find(p =>
      p.strikes.map(_.kind).contains(KillDriver) && p.strikes.exists(_.kind == Split) && p.settings.queries.size > 1
    )
    .get

  describe("a plan that fails") {
    it("is shrunk to the strikes, and to the smallest world, that it takes to fail") {
      def fails(plan: Plan) = Set[Strike.Kind](KillDriver, Split).subsetOf(plan.strikes.map(_.kind).toSet)
      val small             = new Shrinking(fails, () => true).shrink(large)
      small.strikes.map(_.kind) should contain theSameElementsAs Seq(KillDriver, Split)
      small.settings.queries should have size 1
      small.settings.executors shouldBe 1
      small.settings.streams.map(_._2).toSet shouldBe Set(1)
    }

    it("stays as it is where there is no time") {
      new Shrinking(_ => true, () => false).shrink(large) shouldBe large
    }
  }
}
