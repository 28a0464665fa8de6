package io.github.kinesisspark.it

import java.io.{BufferedReader, File, InputStreamReader}
import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.TimeUnit

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

/** A server of another project, run by `integration-tests/servers/servers.py` for as long as this JVM lives.
  *
  * The script ends the server when its standard input closes, and that pipe closes with this JVM however it ends, so
  * nothing is left behind even after a kill.
  */
final class LocalServer private (process: Process, val endpoint: URI) extends AutoCloseable {

  /** The script, the server under it, and what that started. */
  private[it] def processes: Seq[ProcessHandle] =
    process.toHandle +: process.descendants().iterator.asScala.toSeq

  override def close(): Unit = {
    process.getOutputStream.close()
    if (!process.waitFor(60, TimeUnit.SECONDS)) process.destroyForcibly()
  }
}

object LocalServer {

  /** Installs the server if need be, starts it on a free port and returns when it answers.
    *
    * @throws java.lang.IllegalStateException with the script's own words, if the server cannot run here
    */
  def start(name: String): LocalServer = {
    val complaints = Files.createTempFile(s"$name-", ".err")
    val process    = new ProcessBuilder("python3", script.toString, "run", name)
      .redirectError(complaints.toFile)
      .start()
    val firstLine = new BufferedReader(new InputStreamReader(process.getInputStream)).readLine()
    if (firstLine == null) {
      process.waitFor()
      throw new IllegalStateException(
        s"The server '$name' was asked for but cannot be started: ${Files.readString(complaints).trim}"
      )
    }
    Files.delete(complaints)
    new LocalServer(process, URI.create(firstLine))
  }

  /** Installs the server if need be, and says why it can't run on this machine, if so. */
  def obstacle(name: String): Option[String] = {
    val installing = new ProcessBuilder("python3", script.toString, "install", name)
      .redirectOutput(ProcessBuilder.Redirect.DISCARD)
      .start()
    val complaint = new String(installing.getErrorStream.readAllBytes(), UTF_8).trim
    installing.waitFor() match {
      case 0             => None
      case CannotRunHere => Some(complaint)
      case unforeseen    =>
        throw new IllegalStateException(s"Installing '$name' ended with status $unforeseen: $complaint")
    }
  }

  /** servers.py's exit status for what is missing on a machine. */
  private val CannotRunHere = 3

  /** A build tool may run tests in the module's directory or in the project's. */
  def projectRoot: Path = {
    @tailrec def climb(dir: File): Path =
      if (dir == null) throw new IllegalStateException("The tests do not run inside the project's directory")
      else if (new File(dir, "integration-tests/servers/servers.py").isFile) dir.toPath
      else climb(dir.getParentFile)
    climb(Paths.get("").toAbsolutePath.toFile)
  }

  private def script: Path = projectRoot.resolve("integration-tests/servers/servers.py")
}
