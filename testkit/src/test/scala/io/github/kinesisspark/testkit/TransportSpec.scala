package io.github.kinesisspark.testkit

import software.amazon.awssdk.http.Protocol

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
    it(s"puts and gets records over $name") {
      val sdk    = closing(client(endpoint, protocol))
      val stream = newStream(1)
      sdk.putAll(stream, Seq("a" -> "1", "b" -> "2")).failedRecordCount shouldBe 0
      sdk.readAll(stream, shardId(0)) shouldBe Vector("1", "2")
      server.calls.recent.last.protocol shouldBe seen
    }
  }
}
