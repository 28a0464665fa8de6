package io.github.kinesisspark.testkit

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import java.io.FileInputStream
import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.file.Files
import java.security.KeyStore
import java.security.cert.{CertificateFactory, X509Certificate}
import javax.net.ssl.{SSLContext, SSLHandshakeException}
import scala.jdk.CollectionConverters._
import scala.util.Using

/** Clients that verify the server's certificate. */
class TlsCertificateSpec extends AnyFunSpec with Matchers {

  private val folder = Files.createTempDirectory("certificates")

  it("the certificate is accepted on both TLS ports by clients with its trust store only") {
    Using.resource(started(TlsSettings(priorKnowledgePort = Some(0)))) { server =>
      val file = folder.resolve("trusted.p12")
      server.writeTrustStore(file, "secret")
      val trusting = client(ClientTls.trusting(KeyStore.getInstance(file.toFile, "secret".toCharArray)))
      for {
        endpoint <- Seq(server.tlsEndpoint.get, server.priorKnowledgeTlsEndpoint.get)
        host     <- Seq("localhost", "127.0.0.1")
      } health(trusting, endpoint, host) shouldBe 200
      an[SSLHandshakeException] should be thrownBy health(HttpClient.newHttpClient, server.tlsEndpoint.get, "localhost")
    }
  }

  it("the certificate names the hosts of the settings beside the local ones") {
    Using.resource(started(TlsSettings(hostNames = Seq("kinesis.test", "10.1.2.3", "::1")))) { server =>
      val names = server.tlsCertificate.get.asInstanceOf[X509Certificate].getSubjectAlternativeNames
      names.asScala.map(_.get(1)).toSet shouldBe
        Set("localhost", "127.0.0.1", "kinesis.test", "10.1.2.3", "0:0:0:0:0:0:0:1")
    }
  }

  it("the certificate can be read from the PEM file that the server writes") {
    Using.resource(started(TlsSettings())) { server =>
      val file = folder.resolve("trusted.pem")
      server.writeCertificate(file)
      Using.resource(new FileInputStream(file.toFile)) { in =>
        CertificateFactory.getInstance("X.509").generateCertificate(in) shouldBe server.tlsCertificate.get
      }
    }
  }

  it("the certificate comes from the key store of the settings, if there is one") {
    val store = http.SelfSignedCertificate.keyStore(Nil)
    val file  = folder.resolve("own.p12")
    Using.resource(Files.newOutputStream(file))(store.store(_, http.SelfSignedCertificate.Password.toCharArray))
    val own = TlsKeyStore(file, http.SelfSignedCertificate.Password)
    Using.resource(started(TlsSettings(keyStore = Some(own)))) { server =>
      val trusted = ClientTls.trusting(store.getCertificate(store.aliases.nextElement()))
      health(client(trusted), server.tlsEndpoint.get, "localhost") shouldBe 200
    }
  }

  private def started(tls: TlsSettings) = KinesisServer.start(KinesisServerConfig(tlsPort = Some(0), tls = tls))

  private def client(tls: SSLContext): HttpClient = HttpClient.newBuilder.sslContext(tls).build()

  private def health(http: HttpClient, endpoint: URI, host: String): Int = http
    .send(
      HttpRequest.newBuilder(URI.create(s"https://$host:${endpoint.getPort}/_testkit/health")).build(),
      HttpResponse.BodyHandlers.discarding
    )
    .statusCode
}
