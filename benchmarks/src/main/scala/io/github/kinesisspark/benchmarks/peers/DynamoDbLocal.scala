package io.github.kinesisspark.benchmarks.peers

import java.net.{ServerSocket, Socket}
import java.nio.file.{Files, Path}

import scala.annotation.tailrec
import scala.util.{Try, Using}

/** The service's own emulator of DynamoDB, in a JVM of its own and in memory, for peers that keep leases there.
  *
  * @param programs the directory of the peers' programs
  */
final class DynamoDbLocal(programs: Path, log: Path) extends AutoCloseable {
  private val port = Using.resource(new ServerSocket(0))(_.getLocalPort)

  private val process = {
    val (directory, classes) = (programs.resolve("dynamodb-local/target"), ClassPath.of(programs, "dynamodb-local"))
    Files.createDirectories(log.getParent)
    new ProcessBuilder(
      Jvm.command,
      "-Xmx512m",
      s"-Dsqlite4java.library.path=${directory.resolve("native")}",
      "-cp",
      classes,
      "software.amazon.dynamodb.services.local.main.ServerRunner",
      "-inMemory",
      "-sharedDb",
      "-disableTelemetry",
      "-port",
      port.toString
    ).redirectErrorStream(true).redirectOutput(log.toFile).start()
  }

  await()

  def endpoint: String = s"http://127.0.0.1:$port"

  override def close(): Unit = {
    process.destroy()
    process.waitFor(): Unit
  }

  @tailrec private def await(): Unit =
    if (!process.isAlive) throw new IllegalStateException(s"DynamoDB Local has ended: see $log")
    else if (Try(new Socket("127.0.0.1", port).close()).isFailure) {
      Thread.sleep(100)
      await()
    }
}

/** What `./sbt` left of a program: the class path to start it with. */
object ClassPath {
  def of(programs: Path, name: String): String =
    Files.readString(programs.resolve(s"$name/target/class-path.txt")).trim
}

object Jvm {
  def command: String = ProcessHandle.current.info.command.get
}
