package io.github.kinesisspark.testkit.http

import io.github.kinesisspark.testkit.TlsSettings

import java.io.{IOException, InputStream, OutputStream}
import java.net.{InetAddress, Socket, URI}
import java.nio.file.Path
import java.util.concurrent.atomic.AtomicInteger
import javax.net.ssl.{KeyManagerFactory, SSLContext, SSLServerSocket, SSLSocket}
import scala.util.Using

/** A loopback server that ends TLS before a server in cleartext, as a load balancer does.
  *
  * @param protocols that it chooses from by ALPN. It refuses clients that ask for others; with none it ignores ALPN.
  */
final class TlsFront(behind: URI, protocols: Seq[String]) extends AutoCloseable {
  private val keys   = ServerKeys.of(TlsSettings())
  private val taken  = new AtomicInteger
  private val socket = {
    val manager = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    manager.init(keys.store, keys.password.toCharArray)
    val context = SSLContext.getInstance("TLS")
    context.init(manager.getKeyManagers, null, null)
    context.getServerSocketFactory
      .createServerSocket(0, 50, InetAddress.getLoopbackAddress)
      .asInstanceOf[SSLServerSocket]
  }
  start {
    while (!socket.isClosed) quietly {
      val client = socket.accept().asInstanceOf[SSLSocket]
      taken.incrementAndGet()
      start(quietly(Using.resource(client)(serve)))
    }
  }

  def endpoint: URI = URI.create(s"https://127.0.0.1:${socket.getLocalPort}")

  /** Connections that clients began. */
  def connections: Int = taken.get

  /** Writes what clients have to trust, as PEM. */
  def writeCertificate(file: Path): Unit = ServerKeys.writePem(keys.trusted, file)

  override def close(): Unit = socket.close()

  private def serve(client: SSLSocket): Unit = {
    val parameters = client.getSSLParameters
    parameters.setApplicationProtocols(protocols.toArray)
    client.setSSLParameters(parameters)
    client.startHandshake()
    Using.resource(new Socket(behind.getHost, behind.getPort)) { server =>
      start(quietly(pipe(server.getInputStream, client.getOutputStream)))
      pipe(client.getInputStream, server.getOutputStream)
    }
  }

  private def pipe(from: InputStream, to: OutputStream): Unit = from.transferTo(to): Unit

  /** A connection that fails is its client's matter. */
  private def quietly(work: => Unit): Unit =
    try work
    catch { case _: IOException => () }

  private def start(work: => Unit): Unit = {
    val thread = new Thread(() => work, "tls-front")
    thread.setDaemon(true)
    thread.start()
  }
}
