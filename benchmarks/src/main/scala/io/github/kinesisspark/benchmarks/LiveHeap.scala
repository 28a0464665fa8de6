package io.github.kinesisspark.benchmarks

import java.lang.management.ManagementFactory

/** What this JVM keeps of its heap. */
object LiveHeap {

  /** In bytes, after collections. */
  def bytes(): Long = {
    (1 to 3).foreach(_ => System.gc())
    ManagementFactory.getMemoryMXBean.getHeapMemoryUsage.getUsed
  }
}
