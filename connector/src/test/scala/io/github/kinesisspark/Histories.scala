package io.github.kinesisspark

import org.scalactic.anyvals.PosInt

/** How many random histories a test against a model takes: all by hand and in `make test-all`, an eighth where the loop asks for one pass only. */
object Histories {
  def of(all: Int): PosInt =
    PosInt.ensuringValid(if (sys.env.get("SCENARIO_PASSES").contains("once")) all / 8 else all)
}
