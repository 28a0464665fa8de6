package io.github.kinesisspark.benchmarks

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQuery

/** The Spark that benchmarks run on: two cores, in this JVM or in two executors, and silent. */
object BenchmarkSession {
  val Cores = 2

  sealed abstract class Master(val name: String, private[BenchmarkSession] val url: String)

  object Master {
    case object Local extends Master("local", s"local[$Cores]")

    /** Two executors of one core, with the class path of this JVM. Spark starts them from its own directory. */
    case object Cluster extends Master("cluster", s"local-cluster[$Cores,1,2048]")

    val both: Seq[Master] = Seq(Local, Cluster)
  }

  /** What Spark finds its directory by, as its own scripts set it. */
  private val Environment = Seq("SPARK_HOME", "SPARK_SCALA_VERSION")

  def start(master: Master = Master.Local): SparkSession = {
    if (master == Master.Cluster)
      require(Environment.forall(sys.env.contains), s"${Environment.mkString(" and ")} are not set: see `make bench`")
    SparkSession
      .builder()
      .master(master.url)
      .config("spark.ui.enabled", "false")
      .config("spark.log.level", "ERROR")
      .config("spark.executor.extraClassPath", sys.props("java.class.path"))
      .getOrCreate()
  }

  /** A query that drops what it reads. */
  def drain(spark: SparkSession, source: Map[String, String]): StreamingQuery =
    spark.readStream.format("kinesis").options(source).load().writeStream.format("noop").start()
}
