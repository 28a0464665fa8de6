package io.github.kinesisspark.it.aws

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class RunPlanSpec extends AnyFunSpec with Matchers {
  describe("a plan") {
    it("consists of the parts that are named, each once") {
      RunPlan.parse("sink, smoke,sink").map(_.parts.map(_.name)) shouldBe Right(Seq("sink", "smoke"))
    }

    it("is refused if it names an unknown part or none") {
      RunPlan.parse("sink,tables") shouldBe a[Left[_, _]]
      RunPlan.parse("sink,tables").left.toOption.get should (include("tables") and include("conformance"))
      RunPlan.parse(",") shouldBe a[Left[_, _]]
    }

    it("costs shards x minutes and consumers x shards x minutes of all its parts") {
      val plan = RunPlan(Seq(Part("a", "A", 1, 2, 4), Part("b", "B", 1, 3, 0)))
      plan.usage shouldBe Usage(5.0 * RunPlan.MinutesEach, 4.0 * RunPlan.MinutesEach)
    }

    it("prints its parts, their sum, and whether the budget allows it") {
      val plan = RunPlan(Seq(Part("a", "A", 1, 2, 4)))
      val text = plan.text(Budget(30))
      text should (include("a     1") and include("10 shard-minutes and 20 consumer-shard-minutes") and include(
        "accepted"
      ))
      plan.text(Budget(29)) should include("refused; BUDGET=30 allows it")
    }

    it("is within the default budget if it is the default plan") {
      RunPlan.DefaultBudget.allows(RunPlan.parse(RunPlan.Default).toOption.get.usage) shouldBe true
    }

    it("names suites that exist") {
      RunPlan.known.foreach(part => Class.forName(part.suite).getDeclaredConstructor())
    }
  }
}
