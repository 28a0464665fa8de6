package io.github.kinesisspark.benchmarks

import java.io.PrintStream
import java.lang.management.ManagementFactory
import java.time.Instant
import java.time.temporal.ChronoUnit

import com.sun.management.OperatingSystemMXBean

import scala.sys.process.{Process, ProcessLogger}
import scala.util.Try

/** The lines of a benchmark. Each carries what a figure can't be compared without: commit, date, seed, command and machine; no host name and
  * no path.
  *
  * @param benchmark the program, whose name is part of the command
  * @param seed      of everything random in it
  */
final class Report(benchmark: Any, arguments: Seq[String], seed: Option[Long] = None) {
  import Report._

  private val stamp = ujson.Obj(
    "commit" -> commit,
    "date"   -> Instant.now.truncatedTo(ChronoUnit.SECONDS).toString,
    "seed"   -> seed.fold[ujson.Value](ujson.Null)(n => ujson.Num(n.toDouble)),
    "command" -> s"./sbt -C benchmarks \"runMain ${(benchmark.getClass.getName.stripSuffix("$") +: arguments).mkString(" ")}\"",
    "machine" -> machine
  )

  /** The line with its stamp. */
  def stamped(line: ujson.Obj): ujson.Obj = ujson.Obj.from(line.value.toSeq ++ stamp.value)

  def print(line: ujson.Obj): Unit = println(stamped(line).render())

  /** Prints it here and to a file of results. */
  def print(line: ujson.Obj, file: PrintStream): Unit = {
    val text = stamped(line).render()
    println(text)
    file.println(text)
  }

  /** @param line a JSON object */
  def print(line: String): Unit = print(ujson.Obj.from(ujson.read(line).obj))
}

object Report {

  /** The commit of the sources, with `-dirty` if they have been changed since; `unknown` outside a repository. */
  private def commit: String =
    Try(Process(Seq("git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty")).!!(Silent).trim)
      .getOrElse("unknown")

  private def machine: String = {
    val system                 = ManagementFactory.getOperatingSystemMXBean.asInstanceOf[OperatingSystemMXBean]
    val memory                 = math.round(system.getTotalMemorySize.toDouble / (1L << 30))
    def property(name: String) = sys.props.getOrElse(name, "unknown")
    s"${system.getAvailableProcessors} cores, $memory GiB, heap ${Runtime.getRuntime.maxMemory >> 20} MiB, " +
      s"${system.getName} ${system.getArch}, " +
      s"${property("java.vm.name")} ${property("java.version")}"
  }

  private val Silent = ProcessLogger(_ => ())
}
