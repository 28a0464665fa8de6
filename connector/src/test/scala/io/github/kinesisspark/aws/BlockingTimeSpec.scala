package io.github.kinesisspark.aws

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class BlockingTimeSpec extends AnyFunSpec with Matchers {
  describe("the time that retries and deadlines are measured by") {
    it("is the JVM's monotonic clock, which a corrected wall clock doesn't change") {
      val before = System.nanoTime()
      val now    = BlockingTime.real.nanos()
      val after  = System.nanoTime()
      now - before should be >= 0L
      after - now should be >= 0L
    }
  }
}
