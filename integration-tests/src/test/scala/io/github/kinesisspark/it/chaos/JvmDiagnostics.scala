package io.github.kinesisspark.it.chaos

import java.lang.management.ManagementFactory
import javax.management.ObjectName

/** The diagnostic commands of `jcmd` in this JVM, for the harness's query program, which py4j lets call public methods only. */
object JvmDiagnostics {
  private val Commands = new ObjectName("com.sun.management:type=DiagnosticCommand")

  /** @param command as the MBean has it: `gcClassHistogram`, which collects all garbage first, or `threadPrint` */
  def run(command: String): String = ManagementFactory.getPlatformMBeanServer
    .invoke(Commands, command, Array[AnyRef](Array.empty[String]), Array(classOf[Array[String]].getName))
    .toString
}
