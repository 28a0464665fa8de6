package io.github.kinesisspark.it.source

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.it.{KinesisTarget, Targets}

/** One test for each target, so that the report of a run lists the targets that are left out, and why. */
class TargetReportSpec extends AnyFunSpec with Matchers {
  private val chosen = Seq(Targets.forConformance, Targets.forScenarios)

  describe("the target") {
    KinesisTarget.all.foreach { target =>
      it(s"$target answers calls if it is among the targets of the run") {
        if (chosen.exists(_.selected.contains(target)))
          target.service.call(_.listStreams()).hasMoreStreams should not be null
        else cancel(s"$target is left out: ${chosen.head.leftOut(target)}")
      }
    }
  }
}
