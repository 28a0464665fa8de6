package io.github.kinesisspark.it.faults

import java.nio.file.{Files, Path}
import java.security.KeyStore
import java.security.cert.Certificate

import scala.util.Using

/** Makes this JVM's clients trust a certificate besides, by Java's own properties, as a user would. */
object Trust {
  private val Password = "testkit"
  private val Store    = "javax.net.ssl.trustStore"
  private val Secret   = "javax.net.ssl.trustStorePassword"

  /** @return takes it back */
  def in(certificate: Certificate): AutoCloseable = {
    val before = Seq(Store, Secret).map(name => name -> Option(System.getProperty(name)))
    System.setProperty(Store, write(certificate).toString)
    System.setProperty(Secret, Password)
    () =>
      before.foreach { case (name, value) =>
        value.fold(System.clearProperty(name))(System.setProperty(name, _)): Unit
      }
  }

  private def write(certificate: Certificate): Path = {
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, null)
    store.setCertificateEntry("testkit", certificate)
    val file = Files.createTempFile("trust-", ".p12")
    Using.resource(Files.newOutputStream(file))(store.store(_, Password.toCharArray))
    file
  }
}
