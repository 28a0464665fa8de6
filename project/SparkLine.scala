import sbt.VirtualAxis

/** Versions of Spark that a JAR of the connector serves, `kinesis-spark-<name>_<Scala's version>`.
  *
  * @param spark what it is compiled against
  */
sealed abstract class SparkLine(val name: String, val spark: String) extends VirtualAxis.WeakAxis {
  override def idSuffix: String        = "Spark" + name.filter(_.isDigit)
  override def directorySuffix: String = s"-spark-$name"
  // Behind Scala's version.
  override def suffixOrder: Int = 200
}

object SparkLine {

  /** Spark 4.0 and later. */
  case object Spark4 extends SparkLine("4", Versions.spark)

  /** Spark 3.5: with Scala 2.12 as PyPI, EMR 7 and Glue 5 have it, and with 2.13. */
  case object Spark35 extends SparkLine("3.5", Versions.spark35)
}
