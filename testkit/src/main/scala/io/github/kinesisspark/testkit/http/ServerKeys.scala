package io.github.kinesisspark.testkit.http

import io.github.kinesisspark.testkit.TlsSettings

import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.{Files, Path}
import java.security.KeyStore
import java.security.cert.Certificate
import java.util.Base64
import scala.jdk.CollectionConverters._

/** The server's private key and certificates, and what clients need of them.
  *
  * @param password of the store and of its key
  */
final private[testkit] case class ServerKeys(store: KeyStore, password: String) {

  /** What a client that verifies has to trust: the last certificate of the chain. */
  val trusted: Certificate = store.aliases.asScala
    .collectFirst { case alias if store.isKeyEntry(alias) => store.getCertificateChain(alias).last }
    .getOrElse(throw new IllegalArgumentException("The TLS key store has no private key with a certificate."))
}

private[testkit] object ServerKeys {

  def of(settings: TlsSettings): ServerKeys = settings.keyStore match {
    case Some(own) => ServerKeys(KeyStore.getInstance(own.path.toFile, own.password.toCharArray), own.password)
    case None      => ServerKeys(SelfSignedCertificate.keyStore(settings.hostNames), SelfSignedCertificate.Password)
  }

  /** Writes a certificate as PEM. */
  def writePem(certificate: Certificate, file: Path): Unit = {
    val lines = Base64.getMimeEncoder(64, Array[Byte]('\n')).encodeToString(certificate.getEncoded)
    Files.write(file, s"-----BEGIN CERTIFICATE-----\n$lines\n-----END CERTIFICATE-----\n".getBytes(US_ASCII))
    ()
  }

  /** Writes a PKCS12 store that holds the certificate as a trusted one, and no key. */
  def writeTrustStore(certificate: Certificate, file: Path, password: String): Unit = {
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, null)
    store.setCertificateEntry("kinesis", certificate)
    val out = Files.newOutputStream(file)
    try store.store(out, password.toCharArray)
    finally out.close()
  }
}
