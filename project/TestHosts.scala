import java.net.InetAddress

import sbt._

/** The host names that JVMs of the integration tests know: this machine's own, and a name of AWS's that leads to this machine.
  * All other names fail to resolve there, so that no test can reach AWS by mistake.
  */
object TestHosts {

  /** The JVM options; the file that they name is written anew.
    *
    * @see RealisticServer.HostName in the integration tests
    */
  def options(directory: File): Seq[String] = {
    val here  = InetAddress.getLocalHost
    val lines = Seq(
      "127.0.0.1 localhost",
      "127.0.0.1 vpce-1-test.kinesis.us-east-1.vpce.amazonaws.com",
      s"${here.getHostAddress} ${here.getHostName}"
    )
    val file = directory / "test-hosts"
    IO.writeLines(file, lines)
    Seq(s"-Djdk.net.hosts.file=${file.getAbsolutePath}")
  }
}
