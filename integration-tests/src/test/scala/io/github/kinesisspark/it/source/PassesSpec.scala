package io.github.kinesisspark.it.source

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.it.KinesisTarget._

class PassesSpec extends AnyFunSpec with Matchers {
  describe("the passes of a scenario suite") {
    it("read by polling and by fan-out on each target") {
      Passes.reading(Seq(Testkit, Aws)) shouldBe
        Seq(Testkit -> Mode.Polling, Testkit -> Mode.FanOut, Aws -> Mode.Polling, Aws -> Mode.FanOut)
    }

    it("poll on one of the two realistic targets if both are chosen, and subscribe on both") {
      Passes.reading(Seq(RealisticAlpn, RealisticTls)) shouldBe
        Seq(RealisticAlpn -> Mode.FanOut, RealisticTls -> Mode.Polling, RealisticTls -> Mode.FanOut)
      Passes.servers(Seq(RealisticAlpn, RealisticTls, KinesisLocal)) shouldBe Seq(RealisticTls, KinesisLocal)
    }

    it("poll on the ALPN target if it is the only realistic one") {
      Passes.reading(Seq(RealisticAlpn)) shouldBe Seq(RealisticAlpn -> Mode.Polling, RealisticAlpn -> Mode.FanOut)
      Passes.servers(Seq(RealisticAlpn)) shouldBe Seq(RealisticAlpn)
    }

    it("take each server once, by polling or by fan-out, where a run is to be short") {
      val targets = Seq(RealisticAlpn, RealisticTls, KinesisLocal)
      Passes.once(Mode.Polling)(targets) shouldBe Seq(RealisticTls -> Mode.Polling, KinesisLocal -> Mode.FanOut)
      Passes.once(Mode.FanOut)(targets) shouldBe Seq(RealisticAlpn -> Mode.FanOut, KinesisLocal -> Mode.Polling)
    }
  }
}
