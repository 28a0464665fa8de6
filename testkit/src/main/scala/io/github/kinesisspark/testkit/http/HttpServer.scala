package io.github.kinesisspark.testkit.http

import io.github.kinesisspark.testkit.KinesisServerConfig
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory
import org.eclipse.jetty.http2.server.{HTTP2CServerConnectionFactory, HTTP2ServerConnectionFactory}
import org.eclipse.jetty.server._
import org.eclipse.jetty.util.ssl.SslContextFactory
import org.eclipse.jetty.util.thread.{QueuedThreadPool, ScheduledExecutorScheduler}

import java.net.URI
import java.security.cert.Certificate

/** The listening sockets: cleartext with HTTP/1.1 and HTTP/2 by prior knowledge, TLS with either by ALPN, and TLS with
  * either by what the client sends first.
  */
final private[testkit] class HttpServer(config: KinesisServerConfig, handlers: Seq[Handler]) extends AutoCloseable {
  import HttpServer._

  private val server = {
    val threads = new QueuedThreadPool(MaxThreads, MinThreads)
    threads.setName("kinesis-testkit")
    threads.setDaemon(true)
    // Jetty's own scheduler would keep the JVM alive.
    new Server(threads, new ScheduledExecutorScheduler("kinesis-testkit-timeouts", true), null)
  }

  private val plain =
    connector(config.port, new HttpConnectionFactory(http()), tuned(new HTTP2CServerConnectionFactory(http())))
  private val keys =
    if (config.tlsPort.isEmpty && config.tls.priorKnowledgePort.isEmpty) None else Some(ServerKeys.of(config.tls))
  private val alpn           = config.tlsPort.zip(keys).map { case (port, own) => alpnConnector(port, own) }
  private val priorKnowledge =
    config.tls.priorKnowledgePort.zip(keys).map { case (port, own) => priorKnowledgeConnector(port, own) }

  private val connectors = plain +: (alpn ++ priorKnowledge).toVector
  private val ends       = new ConnectionEnds(config.http, new Handler.Sequence(handlers: _*))
  connectors.foreach { connector =>
    connector.addEventListener(ends)
    server.addConnector(connector)
  }
  server.setHandler(ends)
  server.start()

  val endpoint: URI                          = uri("http", plain)
  val tlsEndpoint: Option[URI]               = alpn.map(uri("https", _))
  val priorKnowledgeTlsEndpoint: Option[URI] = priorKnowledge.map(uri("https", _))

  val tlsCertificate: Option[Certificate] = keys.map(_.trusted)

  def close(): Unit = server.stop()

  private def uri(scheme: String, on: ServerConnector): URI =
    URI.create(s"$scheme://${config.host}:${on.getLocalPort}")

  private def alpnConnector(port: Int, keys: ServerKeys): ServerConnector = {
    val http1 = new HttpConnectionFactory(secure())
    val alpn  = new ALPNServerConnectionFactory()
    alpn.setDefaultProtocol(http1.getProtocol)
    connector(
      port,
      new SslConnectionFactory(ssl(keys), alpn.getProtocol),
      alpn,
      tuned(new HTTP2ServerConnectionFactory(secure())),
      http1
    )
  }

  // Jetty's HTTP/1.1 parser knows the preface of HTTP/2 and hands the connection to the factory of cleartext HTTP/2,
  // which does not care that TLS lies below it.
  private def priorKnowledgeConnector(port: Int, keys: ServerKeys): ServerConnector = {
    val http1 = new HttpConnectionFactory(secure())
    connector(
      port,
      new SslConnectionFactory(ssl(keys), http1.getProtocol),
      http1,
      tuned(new HTTP2CServerConnectionFactory(secure()))
    )
  }

  private def ssl(keys: ServerKeys): SslContextFactory.Server = {
    val made = new SslContextFactory.Server
    made.setKeyStore(keys.store)
    made.setKeyStorePassword(keys.password)
    made.setSniRequired(false)
    made
  }

  private def connector(port: Int, factories: ConnectionFactory*): ServerConnector = {
    val made = new ServerConnector(server, 1, -1, factories: _*)
    made.setHost(config.host)
    made.setPort(port)
    made.setIdleTimeout(IdleMillis)
    made
  }

  private def tuned[F <: org.eclipse.jetty.http2.server.AbstractHTTP2ServerConnectionFactory](factory: F): F = {
    factory.setInitialSessionRecvWindow(RecvWindow)
    factory.setInitialStreamRecvWindow(RecvWindow)
    factory.setMaxConcurrentStreams(config.http.maxConcurrentStreams)
    factory
  }

  private def http(): HttpConfiguration = {
    val made = new HttpConfiguration
    made.setSendDateHeader(false) // The service's clock writes it.
    made.setSendServerVersion(false)
    made.setRequestHeaderSize(32 * 1024)
    made
  }

  private def secure(): HttpConfiguration = {
    val made       = http()
    val customizer = new SecureRequestCustomizer
    customizer.setSniHostCheck(false)
    made.addCustomizer(customizer)
    made
  }
}

private[testkit] object HttpServer {
  private val MinThreads = 8
  private val MaxThreads = 256

  // Above the five minutes that a subscription may last.
  private val IdleMillis = 10 * 60 * 1000L

  // A PutRecords of 10 MiB must not wait for window updates.
  private val RecvWindow = 16 * 1024 * 1024
}
