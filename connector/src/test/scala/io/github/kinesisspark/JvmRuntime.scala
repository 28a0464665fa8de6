package io.github.kinesisspark

import io.github.kinesisspark.runtime.Runtime

/** The JVM's own time and threads, for tests that don't drive them. */
object JvmRuntime {
  implicit val runtime: Runtime = Runtime.ofJvm
}
