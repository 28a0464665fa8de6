package io.github.kinesisspark.benchmarks.peers

import java.lang.management.ManagementFactory
import java.nio.file.Path

import scala.jdk.CollectionConverters._

/** A program that is measured.
  *
  * @param name      as in figures
  * @param catchUps  ways of reading whose throughput is measured
  * @param latencies those whose latency is
  * @param hasLeases keeps them in DynamoDB
  */
sealed abstract class Reader(
    val name: String,
    val catchUps: Seq[String],
    val latencies: Seq[String],
    val hasLeases: Boolean = false
) {
  def command(programs: Path, python: String): Seq[String]
}

object Reader {
  // Of one size, as Flink's own scripts start its JVMs.
  private val Heap = "3g"

  private abstract class OfScala(
      name: String,
      main: String,
      catchUps: Seq[String],
      latencies: Seq[String],
      hasLeases: Boolean = false
  ) extends Reader(name, catchUps, latencies, hasLeases) {
    override def command(programs: Path, python: String): Seq[String] = {
      // Those that Spark needs, and Flink.
      val opened = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala.filter(_.startsWith("--add-opens"))
      Seq(Jvm.command, s"-Xms$Heap", s"-Xmx$Heap", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn") ++ opened ++
        Seq("-cp", ClassPath.of(programs, name), s"io.github.kinesisspark.peers.$main")
    }
  }

  private val Both = Seq("polling", "fan-out")

  /** Without the pause between two calls of a shard that the reader makes by itself. */
  private val Unpaused = "polling without pauses"

  private object Connector
      extends OfScala("connector", "ConnectorPeer", Both, Both ++ Seq("real-time polling", "real-time fan-out"))
  private object Flink extends OfScala("flink", "FlinkPeer", Both :+ Unpaused, Both)
  private object Kcl   extends OfScala("kcl", "KclPeer", Both :+ Unpaused, Both, hasLeases = true)

  private object Boto3 extends Reader("boto3", Seq("polling"), Seq("polling")) {
    override def command(programs: Path, python: String): Seq[String] =
      Seq(python, programs.resolve("boto3-source/peer.py").toString, ClassPath.of(programs, "connector"))
  }

  val all: Seq[Reader] = Seq(Connector, Flink, Boto3, Kcl)
}
