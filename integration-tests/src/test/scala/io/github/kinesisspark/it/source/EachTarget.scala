package io.github.kinesisspark.it.source

import org.scalatest.Suite

import io.github.kinesisspark.it.{KinesisTarget, Targets}

/** One suite for each pass over a server of this run. */
object EachTarget {
  def apply(suite: (KinesisTarget, Mode) => Suite): Seq[Suite] =
    Passes.reading(Targets.forScenarios.selected).map { case (target, mode) => suite(target, mode) }
}
