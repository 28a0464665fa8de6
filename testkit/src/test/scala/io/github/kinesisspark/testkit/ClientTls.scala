package io.github.kinesisspark.testkit

import java.security.KeyStore
import java.security.cert.Certificate
import javax.net.ssl.{SSLContext, TrustManagerFactory}

/** TLS of clients without an SDK. */
object ClientTls {

  /** Trusts this certificate alone. */
  def trusting(certificate: Certificate): SSLContext = {
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, null)
    store.setCertificateEntry("testkit", certificate)
    trusting(store)
  }

  def trusting(store: KeyStore): SSLContext = {
    val managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    managers.init(store)
    val context = SSLContext.getInstance("TLS")
    context.init(null, managers.getTrustManagers, null)
    context
  }
}
