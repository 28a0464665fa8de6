package org.apache.spark.kinesisspark

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class SparkMetricsSpec extends AnyFunSpec with Matchers {
  private val gauges = Map("records" -> (() => 1L))

  describe("gauges in Spark's metrics system") {
    it("have a number after their name while another query has it, until they are closed") {
      val first  = SparkMetrics.show("metrics-spec", gauges)
      val second = SparkMetrics.show("metrics-spec", gauges)
      def names  = SparkMetrics.shown.filter(_.startsWith("metrics-spec"))
      try names shouldBe Set("metrics-spec", "metrics-spec-2")
      finally {
        first.close()
        names shouldBe Set("metrics-spec-2")
        second.close()
      }
      names shouldBe empty
      second.close()
    }
  }
}
