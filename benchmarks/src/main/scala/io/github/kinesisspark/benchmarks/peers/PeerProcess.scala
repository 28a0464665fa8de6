package io.github.kinesisspark.benchmarks.peers

import java.io.{BufferedReader, InputStreamReader, PrintStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.Try

/** A process of its own that reads Kinesis. `Peer` in benchmarks/peers/protocol has the commands and the reports.
  *
  * @param log gets what it says beside that
  */
final class PeerProcess(command: Seq[String], environment: Map[String, String], log: Path) extends AutoCloseable {
  import PeerProcess._

  Files.createDirectories(log.getParent)

  private val process = {
    val builder = new ProcessBuilder(command: _*)
    builder.environment.putAll(environment.asJava)
    builder.redirectError(ProcessBuilder.Redirect.to(log.toFile)).start()
  }
  private val in  = new PrintStream(process.getOutputStream, true, UTF_8)
  private val out = new BufferedReader(new InputStreamReader(process.getInputStream))

  def order(words: String*): Unit = in.println(words.mkString("\t"))

  /** The next that it says.
    *
    * @throws java.lang.IllegalStateException if it has ended
    */
  @tailrec def next(): ujson.Value = out.readLine() match {
    case null                          => throw new IllegalStateException(s"The program has ended: see $log")
    case line if line.startsWith(Mark) => ujson.read(line.stripPrefix(Mark))
    case _                             => next()
  }

  /** The next that it says with this key. */
  @tailrec def next(key: String): ujson.Value = {
    val said = next()
    said.obj.get(key) match {
      case Some(value) => value
      case None        => next(key)
    }
  }

  /** CPU time of the process and all that it has started, in seconds, with those that have ended. */
  def cpuSeconds: Double =
    (process.toHandle +: process.descendants.iterator.asScala.toSeq)
      .map(each => Try(cpuOf(each.pid)).getOrElse(0.0))
      .sum

  /** Ends the process, by force if it does not end by itself in time, and the processes that it has started. */
  override def close(): Unit = {
    val started = process.descendants.iterator.asScala.toSeq
    in.close()
    if (!process.waitFor(Patience.toSeconds, SECONDS)) process.destroyForcibly().waitFor(): Unit
    started.foreach(_.destroyForcibly())
  }
}

object PeerProcess {
  private val Mark           = "peer: "
  private val Patience       = 20.seconds
  private val TicksPerSecond = 100.0

  /** User and system time are at the 12th and 13th place after the name, which stands in parentheses; those of its children that have ended follow. */
  private def cpuOf(pid: Long) = {
    val line = Files.readString(Path.of(s"/proc/$pid/stat"))
    line.substring(line.lastIndexOf(')') + 2).split(' ').slice(11, 15).map(_.toLong).sum / TicksPerSecond
  }
}
