package io.github.kinesisspark.testkit

import software.amazon.awssdk.http.{Protocol, ProtocolNegotiation}

/** Tests calls over HTTP/1.1 and HTTP/2, in cleartext and over TLS. */
class TransportSpec extends ServerSpec {
  import Clients._
  import ProtocolNegotiation._

  override protected def config: KinesisServerConfig =
    KinesisServerConfig(tlsPort = Some(0), tls = TlsSettings(priorKnowledgePort = Some(0)))

  private def alpn           = server.tlsEndpoint.get
  private def priorKnowledge = server.priorKnowledgeTlsEndpoint.get

  private lazy val ways = Seq(
    ("cleartext HTTP/1.1", server.endpoint, Protocol.HTTP1_1, ASSUME_PROTOCOL, "HTTP/1.1"),
    ("cleartext HTTP/2 with prior knowledge", server.endpoint, Protocol.HTTP2, ASSUME_PROTOCOL, "HTTP/2.0"),
    ("TLS with HTTP/1.1", alpn, Protocol.HTTP1_1, ASSUME_PROTOCOL, "HTTP/1.1"),
    ("TLS with HTTP/2 by ALPN", alpn, Protocol.HTTP2, ALPN, "HTTP/2.0"),
    ("TLS without ALPN with HTTP/1.1", priorKnowledge, Protocol.HTTP1_1, ASSUME_PROTOCOL, "HTTP/1.1"),
    ("TLS without ALPN with HTTP/2 by prior knowledge", priorKnowledge, Protocol.HTTP2, ASSUME_PROTOCOL, "HTTP/2.0")
  )

  ways.foreach { case (name, endpoint, protocol, negotiation, seen) =>
    it(s"records are put and read over $name") {
      val sdk    = closing(client(endpoint, protocol, negotiation = negotiation))
      val stream = newStream(1)
      sdk.putAll(stream, Seq("a" -> "1", "b" -> "2")).failedRecordCount shouldBe 0
      sdk.readAll(stream, shardId(0)) shouldBe Vector("1", "2")
      server.calls.recent.last.protocol shouldBe seen
    }
  }

  it("a client that negotiates HTTP/2 by ALPN is refused on the port without ALPN") {
    val sdk = closing(client(priorKnowledge, Protocol.HTTP2, negotiation = ALPN))
    an[Exception] should be thrownBy await(sdk.listStreams())
  }
}
