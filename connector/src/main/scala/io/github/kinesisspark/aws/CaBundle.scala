package io.github.kinesisspark.aws

import java.io.{ByteArrayInputStream, IOException}
import java.nio.file.{Files, Path}
import java.security.{GeneralSecurityException, KeyStore}
import java.security.cert.CertificateFactory
import javax.net.ssl.{TrustManager, TrustManagerFactory}

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.http.TlsTrustManagersProvider

/** Trusts the certificates of a file of the user's, and no others. */
private[aws] object CaBundle {

  /** @throws KinesisException `KINESIS_CA_BUNDLE` */
  def load(file: String): TlsTrustManagersProvider = {
    val managers =
      try trusting(Path.of(file))
      catch {
        case e: IOException              => fail(file, s"it can't be read: $e", e)
        case e: GeneralSecurityException => fail(file, s"it has no certificates in PEM: ${e.getMessage}", e)
      }
    () => managers
  }

  private def trusting(file: Path): Array[TrustManager] = {
    val in           = new ByteArrayInputStream(Files.readAllBytes(file))
    val certificates = CertificateFactory.getInstance("X.509").generateCertificates(in).asScala.toSeq
    if (certificates.isEmpty) fail(file.toString, "it has no certificates in PEM")
    val store = KeyStore.getInstance(KeyStore.getDefaultType)
    store.load(null, null)
    certificates.zipWithIndex.foreach { case (certificate, i) => store.setCertificateEntry(s"ca-$i", certificate) }
    val factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    factory.init(store)
    factory.getTrustManagers
  }

  private def fail(file: String, why: String, cause: Throwable = null): Nothing =
    throw new KinesisException(
      "KINESIS_CA_BUNDLE",
      s"caBundle $file: $why. It must be a PEM file, on the driver and all executors.",
      cause
    )
}
