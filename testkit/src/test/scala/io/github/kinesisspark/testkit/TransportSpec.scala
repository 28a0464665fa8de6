package io.github.kinesisspark.testkit

import software.amazon.awssdk.http.Protocol

import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.security.KeyStore
import javax.net.ssl.{SSLContext, SSLHandshakeException, TrustManagerFactory}

/** The same calls come through whatever way a client connects. */
class TransportSpec extends ServerSpec {
  import Clients._

  override protected def config: KinesisServerConfig = KinesisServerConfig(tlsPort = Some(0))

  private lazy val ways = Seq(
    ("cleartext HTTP/1.1", server.endpoint, Protocol.HTTP1_1, "HTTP/1.1"),
    ("cleartext HTTP/2 with prior knowledge", server.endpoint, Protocol.HTTP2, "HTTP/2.0"),
    ("TLS with HTTP/1.1", server.tlsEndpoint.get, Protocol.HTTP1_1, "HTTP/1.1"),
    ("TLS with HTTP/2", server.tlsEndpoint.get, Protocol.HTTP2, "HTTP/2.0")
  )

  ways.foreach { case (name, endpoint, protocol, seen) =>
    it(s"records are put and read over $name") {
      val sdk    = closing(client(endpoint, protocol))
      val stream = newStream(1)
      sdk.putAll(stream, Seq("a" -> "1", "b" -> "2")).failedRecordCount shouldBe 0
      sdk.readAll(stream, shardId(0)) shouldBe Vector("1", "2")
      server.calls.recent.last.protocol shouldBe seen
    }
  }

  it("the TLS certificate is accepted by a verifying client only if the client trusts it") {
    val trusted = KeyStore.getInstance("PKCS12")
    trusted.load(null, null)
    trusted.setCertificateEntry("testkit", server.tlsCertificate.get)
    val managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    managers.init(trusted)
    val tls = SSLContext.getInstance("TLS")
    tls.init(null, managers.getTrustManagers, null)
    val port                                        = server.tlsEndpoint.get.getPort
    def health(http: HttpClient, host: String): Int = http
      .send(
        HttpRequest.newBuilder(URI.create(s"https://$host:$port/_testkit/health")).build(),
        HttpResponse.BodyHandlers.discarding
      )
      .statusCode
    val trusting = HttpClient.newBuilder.sslContext(tls).build()
    health(trusting, "localhost") shouldBe 200
    health(trusting, "127.0.0.1") shouldBe 200
    an[SSLHandshakeException] should be thrownBy health(HttpClient.newHttpClient, "localhost")
  }
}
