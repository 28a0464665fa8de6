package io.github.kinesisspark.it

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.it.KinesisTarget._

class TargetsSpec extends AnyFunSpec with Matchers {
  private val default                       = Seq(Testkit, KinesisLocal)
  private def choose(names: String)         = Targets.choose(Some(names), default, _ => None)
  private def withoutNode(t: KinesisTarget) = if (t == LocalStack) Some("needs node on PATH") else None

  describe("KINESIS_TARGETS") {
    it("selects targets by name, each once, in the order given") {
      choose("localstack, testkit,localstack").selected shouldBe Seq(LocalStack, Testkit)
    }

    it("selects the default if it is not set, and gives a reason for every other target") {
      val targets = Targets.choose(None, default, withoutNode)
      targets.selected shouldBe default
      targets.leftOut.keySet shouldBe Set(RealisticAlpn, RealisticTls, LocalStack, Aws)
      targets.leftOut(LocalStack) should include("KINESIS_TARGETS=localstack")
      targets.leftOut(Aws) should (include("not been run") and include("make test-aws"))
    }

    it("selects with 'all' every target but AWS that can run here, and keeps the reason of one that cannot") {
      val targets = Targets.choose(Some("all"), default, withoutNode)
      targets.selected shouldBe Seq(Testkit, RealisticAlpn, RealisticTls, KinesisLocal)
      targets.leftOut(LocalStack) shouldBe "needs node on PATH"
      targets.leftOut.keySet shouldBe Set(LocalStack, Aws)
    }

    it("keeps a target that is named even if it cannot run here, so that the run fails") {
      Targets.choose(Some("localstack"), default, withoutNode).selected shouldBe Seq(LocalStack)
    }

    it("fails with the list of targets if it names an unknown one") {
      val error = the[IllegalArgumentException] thrownBy choose("testkit,kinesalite")
      error.getMessage should (include("'kinesalite'") and include("kinesis-local"))
    }

    it("fails if it names none, so that no run passes without a test") {
      an[IllegalArgumentException] should be thrownBy choose(" , ")
    }
  }
}
