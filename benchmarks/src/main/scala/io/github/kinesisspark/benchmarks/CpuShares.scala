package io.github.kinesisspark.benchmarks

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.sun.management.OperatingSystemMXBean

/** CPU time of this process in seconds, by what its threads are for: the JVM's own threads as well, which collect garbage and compile. Linux alone
  * shows it. A thread that has ended since counts no more.
  */
final case class CpuShares(byThread: Map[(String, String), Double]) {
  def since(before: CpuShares): CpuShares =
    CpuShares(byThread.map { case (thread, s) => thread -> (s - before.byThread.getOrElse(thread, 0.0)) })

  def all: Double = byThread.values.sum

  def byUse: Map[String, Double] = byThread.groupMapReduce { case ((_, name), _) => CpuShares.use(name) }(_._2)(_ + _)
}

object CpuShares {
  private val Tasks          = Path.of("/proc/self/task")
  private val TicksPerSecond = 100.0

  /** CPU time of this process so far, by the JVM's own count. */
  def nanosOfProcess: Long =
    ManagementFactory.getOperatingSystemMXBean.asInstanceOf[OperatingSystemMXBean].getProcessCpuTime

  def now(): CpuShares = {
    val threads = Files.list(Tasks)
    try CpuShares(threads.iterator.asScala.flatMap(thread => Try(read(thread)).toOption).toMap)
    finally threads.close()
  }

  /** The name stands in parentheses; user and system time follow at the 12th and 13th place after it. */
  private def read(thread: Path) = {
    val line   = Files.readString(thread.resolve("stat"))
    val name   = line.substring(line.indexOf('(') + 1, line.lastIndexOf(')'))
    val fields = line.substring(line.lastIndexOf(')') + 2).split(' ')
    (thread.getFileName.toString, name) -> (fields(11).toLong + fields(12).toLong) / TicksPerSecond
  }

  /** The kernel keeps 15 characters of a name. */
  private def use(thread: String) = thread match {
    case name if name.startsWith("aws-java-sdk-Ne")                               => "event_loops"
    case name if name.startsWith("sdk-async-respo")                               => "sdk_completion"
    case name if name.startsWith("kinesis-shard-r")                               => "readers"
    case name if name.startsWith("Executor task")                                 => "tasks"
    case name if name.startsWith("GC Thread") || name.startsWith("G1 ")           => "collection"
    case name if name.startsWith("C2 Compiler") || name.startsWith("C1 Compiler") => "compilation"
    case _                                                                        => "others"
  }
}
