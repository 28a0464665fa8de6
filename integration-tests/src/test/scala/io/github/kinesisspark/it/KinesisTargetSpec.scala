package io.github.kinesisspark.it

import java.util.concurrent.TimeUnit

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class KinesisTargetSpec extends AnyFunSpec with Matchers {
  describe("A local server") {
    it("that fails to start throws an error with the reason") {
      val error = the[IllegalStateException] thrownBy LocalServer.start("no-such-server")
      error.getMessage should (include("'no-such-server'") and include("invalid choice"))
    }

    it("leaves no process after it is closed") {
      Targets.obstacle(KinesisTarget.KinesisLocal).foreach(reason => cancel(reason))
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
