package io.github.kinesisspark

import org.scalatest.Tag

package object it {

  /** The tag of all modules' tests, under the name that these tests import. */
  val Slow: Tag = io.github.kinesisspark.Slow
}
