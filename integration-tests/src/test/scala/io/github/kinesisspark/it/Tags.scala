package io.github.kinesisspark

import org.scalatest.Tag

package object it {

  /** The tags of all modules' tests, under the names that these tests import. */
  val AwaitsEngine: Tag = io.github.kinesisspark.AwaitsEngine
  val Slow: Tag         = io.github.kinesisspark.Slow
}
