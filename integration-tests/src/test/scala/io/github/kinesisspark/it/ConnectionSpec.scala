package io.github.kinesisspark.it

import java.net.URI
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.{ClientKind, FaultClassifier, KinesisException, TunnelProxy}
import io.github.kinesisspark.config._
import io.github.kinesisspark.testkit.{KinesisServer, KinesisServerConfig}

/** Clients of each kind on a server with a CA of its own, and through a proxy. */
final class ConnectionSpec extends AnyFunSpec with Matchers with BeforeAndAfterAll {
  private val server = KinesisServer.start(KinesisServerConfig(tlsPort = Some(0)))
  private val bundle = Files.createTempFile("ca-", ".pem")
  server.writeCertificate(bundle)

  override protected def afterAll(): Unit = server.close()

  private val kinds = Seq[ClientKind](ClientKind.Calls, ClientKind.Writes, ClientKind.Subscriptions)
  private val own   = ConnectionOptions(caBundle = Some(bundle.toString))

  /** The error class of a call, or none if it succeeds. */
  private def failureOf(kind: ClientKind, connection: ConnectionOptions, endpoint: URI = server.tlsEndpoint.get) = {
    val lease = ConnectorClients.lease(endpoint, kind, connection)
    try
      lease.client
        .describeLimits()
        .handle[Option[String]]((_, e) => Option(e).map(FaultClassifier.classify(_).kind.errorClass))
        .get(60, TimeUnit.SECONDS)
    finally lease.close()
  }

  describe("caBundle") {
    it("makes a server with a CA of its own trusted by clients of each kind, which it is not otherwise") {
      for (kind <- kinds) {
        withClue(s"$kind: ")(failureOf(kind, own) shouldBe None)
        withClue(s"$kind: ")(failureOf(kind, ConnectionOptions.Default) shouldBe Some("KINESIS_TLS_FAILED"))
      }
    }

    it("that is missing or has no certificates fails at once with KINESIS_CA_BUNDLE and its name") {
      val empty = Files.writeString(Files.createTempFile("empty-", ".pem"), "nothing")
      for (file <- Seq(Path.of("/no/such.pem"), empty)) {
        val failure =
          intercept[KinesisException](failureOf(ClientKind.Calls, ConnectionOptions(caBundle = Some(file.toString))))
        failure.errorClass shouldBe "KINESIS_CA_BUNDLE"
        failure.getMessage should include(file.toString)
      }
    }
  }

  describe("proxy") {
    def through(proxy: TunnelProxy, password: String = "right", direct: Seq[String] = Nil) =
      own.copy(proxy = Some(ProxyOptions(proxy.address, Some("user"), Some(new Secret(password)), direct)))

    def withProxy[A](body: TunnelProxy => A): A = {
      val proxy = new TunnelProxy(login = Some("user:right"))
      try body(proxy)
      finally proxy.close()
    }

    it("carries calls of each kind, to servers with TLS and without") {
      withProxy { proxy =>
        for (endpoint <- Seq(server.tlsEndpoint.get, server.endpoint); kind <- kinds)
          withClue(s"$kind to $endpoint: ") {
            val before = proxy.asked.size
            failureOf(kind, through(proxy), endpoint) shouldBe None
            proxy.asked.drop(before).distinct shouldBe Seq(s"${endpoint.getHost}:${endpoint.getPort}")
          }
      }
    }

    it("that refuses the password fails calls with KINESIS_PROXY_FAILED") {
      withProxy { proxy =>
        for (kind <- kinds)
          withClue(s"$kind: ")(failureOf(kind, through(proxy, "wrong")) shouldBe Some("KINESIS_PROXY_FAILED"))
      }
    }

    it("is not asked for hosts of noProxy") {
      withProxy { proxy =>
        failureOf(ClientKind.Calls, through(proxy, direct = Seq(server.tlsEndpoint.get.getHost))) shouldBe None
        proxy.asked shouldBe empty
      }
    }
  }
}
