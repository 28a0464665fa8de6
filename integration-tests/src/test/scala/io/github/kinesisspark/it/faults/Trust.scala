package io.github.kinesisspark.it.faults

import java.nio.file.Files

import io.github.kinesisspark.testkit.KinesisServer

/** Makes this JVM's clients trust a server's certificate alone, by Java's own properties, as a user would. */
object Trust {
  private val Password = "testkit"
  private val Store    = "javax.net.ssl.trustStore"
  private val Secret   = "javax.net.ssl.trustStorePassword"

  /** @return takes it back */
  def in(server: KinesisServer): AutoCloseable = {
    val before = Seq(Store, Secret).map(name => name -> Option(System.getProperty(name)))
    val file   = Files.createTempFile("trust-", ".p12")
    server.writeTrustStore(file, Password)
    System.setProperty(Store, file.toString)
    System.setProperty(Secret, Password)
    () =>
      before.foreach { case (name, value) =>
        value.fold(System.clearProperty(name))(System.setProperty(name, _)): Unit
      }
  }
}
