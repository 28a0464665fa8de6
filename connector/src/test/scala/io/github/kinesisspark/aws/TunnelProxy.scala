package io.github.kinesisspark.aws

import java.io.{BufferedInputStream, IOException, InputStream, OutputStream}
import java.net.{InetAddress, ServerSocket, Socket, URI}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util.Base64
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._
import scala.util.Using

/** A loopback HTTP proxy that remembers which hosts it was asked to connect to.
  *
  * @param login   `user:password` that it asks for, if any
  * @param allowed whether it connects anybody
  */
final class TunnelProxy(login: Option[String] = None, allowed: Boolean = true) extends AutoCloseable {
  private val seen   = new ConcurrentLinkedQueue[String]
  private val socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress)
  start(() => accept())

  def address: URI       = new URI(s"http://127.0.0.1:${socket.getLocalPort}")
  def asked: Seq[String] = seen.asScala.toSeq

  override def close(): Unit = socket.close()

  private def accept(): Unit =
    try
      while (true) {
        val connection = socket.accept()
        start(() => quietly(Using.resource(connection)(serve)))
      }
    catch { case _: IOException => () } // Its own end.

  private def serve(connection: Socket): Unit = {
    val in      = new BufferedInputStream(connection.getInputStream)
    val request = Iterator.continually(line(in)).takeWhile(_.nonEmpty).toList
    request.headOption.map(_.split(' ')).collect { case Array("CONNECT", target, _) =>
      seen.add(target)
      val expected =
        login.map(l => s"Proxy-Authorization: Basic ${Base64.getEncoder.encodeToString(l.getBytes(UTF_8))}")
      if (!allowed) answer(connection, "403 Forbidden")
      else if (expected.exists(header => !request.exists(_.equalsIgnoreCase(header))))
        answer(connection, "407 Proxy Authentication Required")
      else {
        val Array(host, port) = target.split(':'): @unchecked
        Using.resource(new Socket(host, port.toInt)) { to =>
          answer(connection, "200 Connection established")
          start(() => quietly(pipe(to.getInputStream, connection.getOutputStream)))
          pipe(in, to.getOutputStream)
        }
      }
    }: Unit
  }

  private def answer(to: Socket, status: String): Unit = {
    to.getOutputStream.write(s"HTTP/1.1 $status\r\nContent-Length: 0\r\n\r\n".getBytes(ISO_8859_1))
    to.getOutputStream.flush()
  }

  private def pipe(from: InputStream, to: OutputStream): Unit = from.transferTo(to): Unit

  private def line(in: InputStream): String =
    Iterator.continually(in.read()).takeWhile(c => c >= 0 && c != '\n').map(_.toChar).mkString.trim

  /** The other end of a tunnel closed it. */
  private def quietly(work: => Unit): Unit =
    try work
    catch { case _: IOException => () }

  private def start(work: Runnable): Unit = {
    val thread = new Thread(work, "tunnel-proxy")
    thread.setDaemon(true)
    thread.start()
  }
}
