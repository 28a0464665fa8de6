package io.github.kinesisspark.it.faults

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession

/** Queries in a process of their own, whose names of hosts come from a file: a test takes the endpoint's name away by writing
  * the file anew. Java reads `jdk.net.hosts.file` at each look-up, but takes its name from the command line alone.
  */
object NamedHostQueries {

  /** Starts the query of each [[Role]], and ends with its standard input. Writes a file `failed` with the error of a query that
    * fails.
    *
    * @param args the endpoint, the region, and for each role its stream and its folder
    */
  def main(args: Array[String]): Unit = {
    val (endpoint, region) = (args(0), args(1))
    val spark              = SparkSession.builder().master("local[2,4]").config(settings).getOrCreate()
    val queries            = for ((role, i) <- Role.all.zipWithIndex) yield {
      val (stream, dir) = (args(2 + 2 * i), Path.of(args(3 + 2 * i)))
      dir -> role.start(spark, optionsOf(stream, endpoint, region), dir)
    }
    val watching = new Thread(() =>
      while (true) {
        for ((dir, query) <- queries; error <- query.exception)
          Files.writeString(dir.resolve("failed"), error.getMessage)
        TimeUnit.MILLISECONDS.sleep(200)
      }
    )
    watching.setDaemon(true)
    watching.start()
    System.in.transferTo(java.io.OutputStream.nullOutputStream())
    System.exit(0)
  }

  def optionsOf(stream: String, endpoint: String, region: String): Map[String, String] = Map(
    "streamName"      -> stream,
    "endpoint"        -> endpoint,
    "region"          -> region,
    "accessKeyId"     -> "test",
    "secretAccessKey" -> "test"
  )

  private val settings: Map[String, Any] = Map("spark.ui.enabled" -> "false", "spark.sql.shuffle.partitions" -> "2")

  /** Starts the process.
    *
    * @param hosts the file of names
    * @param log   gets all that the process prints
    */
  def start(hosts: Path, log: Path, args: Seq[String]): Process = {
    val opens   = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala.filter(_.startsWith("--add-opens"))
    val java    = Path.of(System.getProperty("java.home"), "bin", "java").toString
    val command = Seq(java, "-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC") ++ opens ++ Seq(
      s"-Djdk.net.hosts.file=$hosts",
      // No name is remembered.
      "-Dsun.net.inetaddr.ttl=0",
      "-Dsun.net.inetaddr.negative.ttl=0",
      "-cp",
      System.getProperty("java.class.path"),
      NamedHostQueries.getClass.getName.stripSuffix("$")
    ) ++ args
    val builder = new ProcessBuilder(command.asJava).redirectErrorStream(true).redirectOutput(log.toFile)
    // Spark would look the machine's own name up.
    builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1")
    builder.start()
  }
}
