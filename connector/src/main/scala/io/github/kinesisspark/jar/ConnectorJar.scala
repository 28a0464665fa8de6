package io.github.kinesisspark.jar

import java.net.URL
import java.util.Properties

/** The connector's JAR that this class came from. Like [[BuiltFor]], it runs on each Scala. */
private[kinesisspark] object ConnectorJar {
  val File = "META-INF/kinesis-spark.properties"

  /** What the build has written into the JAR. */
  val file: URL = getClass.getResource("/" + File)

  /** Like `kinesis-spark-4_2.13-0.1.0`. A snapshot's has the commit, too, since many commits make snapshots of one version. Python packages
    * of other versions read it.
    */
  val name: String = nameOf(read(file))

  /** The path of the JAR, or the folder of a build. */
  val place: String = placeOf(file)

  def read(file: URL): Properties = {
    val built = new Properties
    // Not cached: another class loader may close the JAR.
    val connection = file.openConnection()
    connection.setUseCaches(false)
    val stream = connection.getInputStream
    try built.load(stream)
    finally stream.close()
    built
  }

  def nameOf(built: Properties): String = {
    val version = built.getProperty("version")
    val jar     = "kinesis-spark-" + built.getProperty("spark") + "_" + built.getProperty("scala") + "-" + version
    if (version.endsWith("-SNAPSHOT")) jar + " of commit " + built.getProperty("commit") else jar
  }

  def placeOf(file: URL): String =
    file.toString.replaceFirst("^jar:", "").replaceFirst("^file:", "").replaceFirst("!?/" + File + "$", "")
}
