/** Versions of Spark that one JAR of the connector serves, `kinesis-spark-<name>_<Scala's version>`.
  *
  * @param spark what it is compiled against
  */
sealed abstract class SparkLine(val name: String, val spark: String, val scala: String) {
  final def isScala212: Boolean = scala.startsWith("2.12.")
}

object SparkLine {

  /** Spark 4.0 and later. */
  case object Spark4 extends SparkLine("4", Versions.spark, Versions.scala)

  /** Spark 3.5 as PyPI, EMR 7 and Glue 5 have it. */
  case object Spark35 extends SparkLine("3.5", Versions.spark35, Versions.scala212)

  case object Spark35Scala213 extends SparkLine("3.5", Versions.spark35, Versions.scala)
}
