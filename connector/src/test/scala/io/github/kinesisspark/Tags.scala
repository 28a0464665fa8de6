package io.github.kinesisspark

import org.scalatest.Tag

/** Marks a test that takes minutes. `make test` leaves it out; `make test-all` runs it. */
object Slow extends Tag("io.github.kinesisspark.Slow")

/** How many random histories a test against a model takes: all by hand and in `make test-all`, a quarter where the loop asks for one pass only. */
object Histories {
  def of(all: Int): Int = if (sys.env.get("SCENARIO_PASSES").contains("once")) all / 4 else all
}
