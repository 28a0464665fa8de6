package io.github.kinesisspark.it

import java.util.concurrent.TimeUnit

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class KinesisTargetSpec extends AnyFunSpec with Matchers {
  describe("KINESIS_TARGETS") {
    it("chooses targets by name, each once, in the order given") {
      KinesisTarget.parse("localstack, testkit,localstack") shouldBe Seq(
        KinesisTarget.LocalStack,
        KinesisTarget.Testkit
      )
    }

    it("is refused when it names a target that there is not, and tells those that there are") {
      val error = the[IllegalArgumentException] thrownBy KinesisTarget.parse("testkit,kinesalite")
      error.getMessage should (include("'kinesalite'") and include("kinesis-local"))
    }

    it("is refused when it names nothing, so that no run passes without a test") {
      an[IllegalArgumentException] should be thrownBy KinesisTarget.parse(" , ")
    }
  }

  describe("A local server") {
    it("that cannot start is a failure that says why") {
      val error = the[IllegalStateException] thrownBy LocalServer.start("no-such-server")
      error.getMessage should (include("'no-such-server'") and include("invalid choice"))
    }

    it("leaves no process behind once it is closed") {
      val server    = LocalServer.start("kinesis-local")
      val processes = server.processes
      processes.size should be >= 2
      server.close()
      processes.foreach { process =>
        process.onExit().get(60, TimeUnit.SECONDS)
        process.isAlive shouldBe false
      }
    }
  }
}
