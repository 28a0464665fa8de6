package io.github.kinesisspark.it

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.it.KinesisTarget._

class TargetsSpec extends AnyFunSpec with Matchers {
  private val default                       = Seq(Testkit, KinesisLocal)
  private def choose(names: String)         = Targets.choose(Some(names), default, _ => None)
  private def missing(server: String)       = Some(s"$server needs node on PATH")
  private def withoutNode(t: KinesisTarget) = Targets.obstacle(t, Map.empty, missing)
  private def inCi(t: KinesisTarget)        = Targets.obstacle(t, Map("CI" -> "true"), missing)

  describe("KINESIS_TARGETS") {
    it("selects targets by name, each once, in the order given") {
      choose("localstack, testkit,localstack").selected shouldBe Seq(LocalStack, Testkit)
    }

    it("selects the default if it is not set, and gives a reason for every other target") {
      val targets = Targets.choose(None, default, _ => None)
      targets.selected shouldBe default
      targets.leftOut.keySet shouldBe Set(RealisticAlpn, RealisticTls, LocalStack, Aws)
      targets.leftOut(LocalStack) should include("KINESIS_TARGETS=localstack")
      targets.leftOut(Aws) should (include("not been run") and include("make test-aws"))
    }

    it("selects with 'all' every target but AWS that can run here, and keeps the reason of one that cannot") {
      val targets = Targets.choose(Some("all"), default, withoutNode)
      targets.selected shouldBe Seq(Testkit, RealisticAlpn, RealisticTls)
      targets.leftOut(LocalStack) shouldBe "localstack needs node on PATH"
      targets.leftOut.keySet shouldBe Set(KinesisLocal, LocalStack, Aws)
    }

    it("leaves out a default target that cannot run here, with the reason, if it is not set") {
      val targets = Targets.choose(None, default, withoutNode)
      targets.selected shouldBe Seq(Testkit)
      targets.leftOut(KinesisLocal) shouldBe "kinesis-local needs node on PATH"
    }

    it("keeps a target that cannot run here in CI, so that the run fails") {
      Targets.choose(None, default, inCi).selected shouldBe default
      Targets.choose(Some("all"), default, inCi).leftOut.keySet shouldBe Set(Aws)
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
