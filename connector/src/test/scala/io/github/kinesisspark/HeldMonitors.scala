package io.github.kinesisspark

import java.lang.management.ManagementFactory

/** The locks of the engine that the calling thread holds, as the JVM knows them. Foreign code is to be called without any but those that
  * docs/contributing/architecture.md lists.
  */
object HeldMonitors {
  def here: Seq[String] = ManagementFactory.getThreadMXBean
    .getThreadInfo(Array(Thread.currentThread.getId), true, false)
    .head
    .getLockedMonitors
    .toSeq
    .map(_.getClassName)
    .filter(_.startsWith("io.github.kinesisspark."))
}
