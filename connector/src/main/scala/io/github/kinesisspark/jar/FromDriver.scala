package io.github.kinesisspark.jar

import org.apache.spark.SparkEnv

/** A value that the driver sends to executors, as bytes beside the name of the JAR that wrote them. A JAR of another version refuses to read the
  * bytes and names both versions. The serialized form of this class is the same in all versions.
  */
@SerialVersionUID(1L)
private[kinesisspark] final class FromDriver private (jar: String, place: String, value: Array[Byte])
    extends Serializable {

  /** @throws java.lang.IllegalArgumentException if another version wrote it */
  private def readResolve(): AnyRef = {
    FromDriver.refusal(jar, place).foreach(why => throw BuiltFor.error(why))
    BuiltFor.checkJava()
    WireFormat.read[AnyRef](value)
  }
}

private[kinesisspark] object FromDriver {

  /** @param value which makes of itself, when it is read, what is sent */
  def apply(value: AnyRef): FromDriver = new FromDriver(ConnectorJar.name, ConnectorJar.place, WireFormat.write(value))

  /** Why this executor takes nothing from a driver with that JAR; nothing if it is of the same version.
    *
    * @param jar   as [[ConnectorJar.name]]
    * @param place as [[ConnectorJar.place]]
    */
  def refusal(jar: String, place: String): Option[String] = Option.when(jar != ConnectorJar.name)(
    s"The driver has $jar ($place), and executor ${Option(SparkEnv.get).fold("?")(_.executorId)} has ${ConnectorJar.name} " +
      s"(${ConnectorJar.place}). Put the same JAR on the driver and on all executors."
  )
}
