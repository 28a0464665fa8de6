package io.github.kinesisspark.testkit.http

import io.github.kinesisspark.testkit.KinesisServerConfig
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory
import org.eclipse.jetty.http2.server.{HTTP2CServerConnectionFactory, HTTP2ServerConnectionFactory}
import org.eclipse.jetty.server._
import org.eclipse.jetty.util.ssl.SslContextFactory
import org.eclipse.jetty.util.thread.QueuedThreadPool

import java.net.URI
import java.security.KeyStore
import java.security.cert.Certificate

/** The listening sockets: cleartext with HTTP/1.1 and HTTP/2 by prior knowledge, and TLS with either by ALPN. */
final private[testkit] class HttpServer(config: KinesisServerConfig, handlers: Seq[Handler]) extends AutoCloseable {
  import HttpServer._

  private val server = {
    val threads = new QueuedThreadPool(MaxThreads, MinThreads)
    threads.setName("kinesis-testkit")
    threads.setDaemon(true)
    new Server(threads)
  }

  private val plain =
    connector(config.port, new HttpConnectionFactory(http()), tuned(new HTTP2CServerConnectionFactory(http())))
  private val keys = config.tlsPort.map(_ => SelfSignedCertificate.keyStore())
  private val tls  = config.tlsPort.zip(keys).map { case (port, store) => tlsConnector(port, store) }

  (plain +: tls.toVector).foreach(server.addConnector)
  server.setHandler(new Handler.Sequence(handlers: _*))
  server.start()

  val endpoint: URI            = URI.create(s"http://${config.host}:${plain.getLocalPort}")
  val tlsEndpoint: Option[URI] = tls.map(c => URI.create(s"https://${config.host}:${c.getLocalPort}"))

  val tlsCertificate: Option[Certificate] = keys.map(SelfSignedCertificate.in(_))

  def close(): Unit = server.stop()

  private def tlsConnector(port: Int, store: KeyStore): ServerConnector = {
    val ssl = new SslContextFactory.Server
    ssl.setKeyStore(store)
    ssl.setKeyStorePassword(SelfSignedCertificate.Password)
    ssl.setSniRequired(false)
    val http1 = new HttpConnectionFactory(secure())
    val alpn  = new ALPNServerConnectionFactory()
    alpn.setDefaultProtocol(http1.getProtocol)
    connector(
      port,
      new SslConnectionFactory(ssl, alpn.getProtocol),
      alpn,
      tuned(new HTTP2ServerConnectionFactory(secure())),
      http1
    )
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
    factory.setMaxConcurrentStreams(MaxConcurrentStreams)
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
  private val RecvWindow           = 16 * 1024 * 1024
  private val MaxConcurrentStreams = 10000
}
