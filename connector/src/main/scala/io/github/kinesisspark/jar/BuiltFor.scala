package io.github.kinesisspark.jar

/** The Spark and the Scala that this JAR is for. On others some method is missing somewhere, so they are refused at the first call.
  *
  * Runs on all of them, so it uses nothing of Scala's library that 2.12 and 2.13 have in different forms: no collection, no
  * interpolated text.
  */
private[kinesisspark] object BuiltFor {
  val ErrorClass = "KINESIS_WRONG_JAR"

  /** @throws java.lang.IllegalArgumentException on another Spark or Scala, on an older Java, or with JARs of two versions on the class path */
  def check(): Unit = {
    checkJava()
    val built = ConnectorJar.read(ConnectorJar.file)
    val why   = complaint(
      built.getProperty("spark"),
      built.getProperty("scala"),
      org.apache.spark.SPARK_VERSION,
      scala.util.Properties.versionNumberString
    )
    if (why.nonEmpty) throw error(why)
    val ofThread = Thread.currentThread.getContextClassLoader
    val loader   = if (ofThread == null) getClass.getClassLoader else ofThread
    val found    = loader.getResources(ConnectorJar.File)
    while (found.hasMoreElements) {
      val other = found.nextElement
      val name  = ConnectorJar.nameOf(ConnectorJar.read(other))
      if (name != ConnectorJar.name)
        throw error(
          "The class path has " + ConnectorJar.name + " (" + ConnectorJar.place + ") and " + name + " (" +
            ConnectorJar.placeOf(other) + "). Leave one of them, the same on the driver and on all executors."
        )
    }
  }

  /** @throws java.lang.IllegalArgumentException on an older Java */
  def checkJava(): Unit = {
    val why = olderJava(System.getProperty("java.specification.version"))
    if (why.nonEmpty) throw error(why)
  }

  def error(why: String): IllegalArgumentException =
    new IllegalArgumentException("[" + ErrorClass + "] " + why + " (See docs/reference/errors.md#kinesis_wrong_jar)")

  /** What is wrong with the JVM, in a sentence; empty if nothing is. Scala 2.12 writes byte code that Java 8 loads, and the JAR calls what came with 17.
    *
    * @param java its version, like 1.8 or 17
    */
  def olderJava(java: String): String =
    if (!java.startsWith("1.") && Integer.parseInt(java) >= 17) ""
    else
      "The connector needs Java 17 or later, and this JVM runs Java " + java + ": on the driver and on all executors, set JAVA_HOME to one."

  /** What is wrong, in a sentence; empty if nothing is.
    *
    * @param forSpark a line, like 3.5 or 4
    * @param forScala a line, like 2.13
    */
  def complaint(forSpark: String, forScala: String, spark: String, scala: String): String =
    if (spark.startsWith(forSpark + ".") && scala.startsWith(forScala + ".")) ""
    else {
      val right =
        if (spark.startsWith("3.5.")) "use kinesis-spark-3.5_" + scala.substring(0, scala.lastIndexOf('.'))
        else if (spark.startsWith("4.")) "use kinesis-spark-4_2.13"
        else "there is none for it: the connector runs on Spark 3.5 and 4"
      "The JAR kinesis-spark-" + forSpark + "_" + forScala + " does not run on Spark " + spark + " with Scala " + scala + "; " +
        right + "."
    }
}
