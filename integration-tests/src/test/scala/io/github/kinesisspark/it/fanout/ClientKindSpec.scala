package io.github.kinesisspark.it.fanout

import java.net.URI
import java.nio.file.Files
import java.util.concurrent.{ExecutionException, TimeUnit}

import scala.util.Using

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.{ClientKind, ClientLease, FaultClassifier, StubServer, TunnelProxy}
import io.github.kinesisspark.config._
import io.github.kinesisspark.it.ConnectorClients
import io.github.kinesisspark.testkit.{KinesisServer, KinesisServerConfig, TlsSettings}
import io.github.kinesisspark.testkit.http.TlsFront

/** Tests which HTTP version each kind of client uses with servers that support both, and how it agrees on it. */
final class ClientKindSpec extends AnyFunSpec with Matchers {
  private val config = KinesisServerConfig(tlsPort = Some(0), tls = TlsSettings(priorKnowledgePort = Some(0)))

  private def leased[A](kind: ClientKind, endpoint: URI, connection: ConnectionOptions)(body: ClientLease => A): A =
    Using.resource(ConnectorClients.lease(endpoint, kind, connection))(body)

  private def trusting(write: java.nio.file.Path => Unit): ConnectionOptions = {
    val bundle = Files.createTempFile("ca-", ".pem")
    write(bundle)
    ConnectionOptions(caBundle = Some(bundle.toString))
  }

  private def call(lease: ClientLease): Unit = lease.client.describeLimits().get(60, TimeUnit.SECONDS): Unit

  private def failure(lease: ClientLease): String =
    FaultClassifier.classify(intercept[ExecutionException](call(lease))).kind.errorClass

  private def protocolOf(kind: ClientKind, connection: ConnectionOptions = ConnectionOptions())(
      endpoint: KinesisServer => URI
  ): String =
    Using.resource(KinesisServer.start(config)) { server =>
      val how = connection.copy(caBundle = trusting(server.writeCertificate).caBundle)
      leased(kind, endpoint(server), how)(call)
      server.calls.recent.last.protocol
    }

  describe("subscriptions use HTTP/2") {
    it("by prior knowledge on a cleartext endpoint") {
      protocolOf(ClientKind.Subscriptions)(_.endpoint) shouldBe "HTTP/2.0"
    }

    it("by ALPN on a TLS endpoint that has it") {
      protocolOf(ClientKind.Subscriptions)(_.tlsEndpoint.get) shouldBe "HTTP/2.0"
    }

    it("by prior knowledge on a TLS endpoint that ignores ALPN") {
      protocolOf(ClientKind.Subscriptions)(_.priorKnowledgeTlsEndpoint.get) shouldBe "HTTP/2.0"
    }

    it("through a proxy, whether the TLS endpoint has ALPN or not") {
      Using.resource(new TunnelProxy()) { proxy =>
        val how = ConnectionOptions(proxy = Some(ProxyOptions(proxy.address, None, None, Nil)))
        protocolOf(ClientKind.Subscriptions, how)(_.tlsEndpoint.get) shouldBe "HTTP/2.0"
        protocolOf(ClientKind.Subscriptions, how)(_.priorKnowledgeTlsEndpoint.get) shouldBe "HTTP/2.0"
        proxy.asked.distinct should have size 2
      }
    }

    it("without ALPN on a TLS endpoint that refuses the first connection for it") {
      Using.Manager { use =>
        val server = use(KinesisServer.start())
        val front  = use(new TlsFront(server.endpoint, Seq("other")))
        leased(ClientKind.Subscriptions, front.endpoint, trusting(front.writeCertificate)) { lease =>
          call(lease)
          call(lease)
        }
        server.calls.recent.map(_.protocol) shouldBe Seq("HTTP/2.0", "HTTP/2.0")
        front.connections shouldBe 2
      }.get
    }
  }

  it("a server without HTTP/2 fails subscriptions with KINESIS_ANSWER_DAMAGED, and serves other calls") {
    Using.Manager { use =>
      val server = use(new StubServer((_, _) => StubServer.Empty))
      val front  = use(new TlsFront(server.endpoint, Nil))
      val trust  = trusting(front.writeCertificate)
      leased(ClientKind.Subscriptions, front.endpoint, trust)(failure) shouldBe "KINESIS_ANSWER_DAMAGED"
      leased(ClientKind.Calls, front.endpoint, trust)(call)
    }.get
  }

  it("other calls use HTTP/1.1 in cleartext and by TLS") {
    val endpoints = Seq[KinesisServer => URI](_.endpoint, _.tlsEndpoint.get, _.priorKnowledgeTlsEndpoint.get)
    for (kind <- Seq(ClientKind.Calls, ClientKind.Writes); endpoint <- endpoints)
      protocolOf(kind)(endpoint) shouldBe "HTTP/1.1"
  }
}
