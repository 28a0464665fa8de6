package io.github.kinesisspark.it.source

import org.scalatest.Suite
import org.scalatest.funspec.AnyFunSpec

import io.github.kinesisspark.it.KinesisTarget

/** One suite per server that the source is tested on, and per mode. */
object EachTarget {
  def apply(suite: (KinesisTarget, Mode) => Suite): Seq[Suite] = {
    val (obstacle, targets) = KinesisTarget.selectedForSource
    targets.flatMap(target => Mode.both.map(suite(target, _))) ++ obstacle.map(new LeftOut(_))
  }

  /** So that the report says what was not tried. */
  private final class LeftOut(obstacle: String) extends AnyFunSpec {
    override def suiteName: String = "LocalStack"
    it("is canceled because it cannot run on this machine")(cancel(obstacle))
  }
}
