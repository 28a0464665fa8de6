package io.github.kinesisspark.it.aws

import org.scalatest.tools.Runner

/** The JVM in which the suites of `make test-aws` run. It ends with the one that started it, however that ends, so that no test
  * creates streams that nobody meters.
  */
object SuiteRun {

  /** @param args the process that started this one, and the suites */
  def main(args: Array[String]): Unit = {
    val parent = ProcessHandle.of(args.head.toLong)
    if (parent.isEmpty) halt() else parent.get.onExit.thenRun(() => halt())
    val passed = Runner.run("-oDFIK" +: args.tail.flatMap(suite => Seq("-s", suite)))
    System.exit(if (passed) 0 else 1)
  }

  // Shutdown hooks of Spark would take their time, and might create more.
  private def halt(): Unit = Runtime.getRuntime.halt(1)
}
