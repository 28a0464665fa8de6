package io.github.kinesisspark.bare

import java.lang.management.ManagementFactory

import com.sun.management.OperatingSystemMXBean

/** What work takes of this process. */
private[bare] object Cost {

  /** Prints a JSON line: MB/s, CPU s/GB of the whole process, and seconds.
    *
    * @param bytes that the work has moved, once it is done
    */
  def printed(bytes: => Long)(work: => Unit): Unit = {
    val (cpu, began) = (cpuNanos, System.nanoTime())
    work
    val (seconds, cpuSeconds) = ((System.nanoTime() - began) / 1e9, (cpuNanos - cpu) / 1e9)
    val moved                 = bytes.toDouble
    println(
      ujson.Obj("mb_per_s" -> moved / 1e6 / seconds, "cpu_s_per_gb" -> cpuSeconds / (moved / 1e9), "s" -> seconds)
    )
  }

  private def cpuNanos: Long =
    ManagementFactory.getOperatingSystemMXBean.asInstanceOf[OperatingSystemMXBean].getProcessCpuTime
}

/** Arguments as `name=value`. */
private[bare] object Options {
  def of(args: Array[String]): Map[String, String] =
    args.map(_.split("=", 2)).collect { case Array(name, value) => name -> value }.toMap
}
