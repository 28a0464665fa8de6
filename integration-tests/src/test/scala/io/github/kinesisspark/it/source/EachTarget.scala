package io.github.kinesisspark.it.source

import org.scalatest.Suite
import org.scalatest.funspec.AnyFunSpec

import io.github.kinesisspark.it.KinesisTarget

/** One suite for each server that the source is tried on. */
object EachTarget {
  def apply(suite: KinesisTarget => Suite): Seq[Suite] = {
    val (obstacle, targets) = KinesisTarget.selectedForSource
    targets.map(suite) ++ obstacle.map(new LeftOut(_))
  }

  /** So that the report says what was not tried. */
  private final class LeftOut(obstacle: String) extends AnyFunSpec {
    override def suiteName: String = "LocalStack"
    it("is left out on this machine")(cancel(obstacle))
  }
}
