package io.github.kinesisspark.aws

import java.io.{BufferedInputStream, IOException, InputStream}
import java.net.{InetAddress, ServerSocket, Socket, URI}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util.concurrent.ConcurrentLinkedQueue

import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.jdk.CollectionConverters._
import scala.util.Using

/** A loopback HTTP/1.1 server of one request per connection that remembers what it was sent and answers what a test says. No
  * Kinesis: for the way there and back. On plain sockets, because the JDK's own server dates its answers itself.
  */
final class StubServer(answer: (StubServer.Request, Int) => StubServer.Answer) extends AutoCloseable {
  import StubServer._

  private val seen   = new ConcurrentLinkedQueue[Request]
  private val socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress)
  private val thread = new Thread(() => accept(), "stub-server")
  thread.setDaemon(true)
  thread.start()

  def endpoint: URI          = new URI(s"http://127.0.0.1:${socket.getLocalPort}")
  def requests: Seq[Request] = seen.asScala.toSeq

  private def accept(): Unit =
    while (!socket.isClosed)
      try Using.resource(socket.accept())(serve)
      catch { case _: IOException => () } // Of this connection, or its own end.

  private def serve(connection: Socket): Unit = {
    val in      = new BufferedInputStream(connection.getInputStream)
    val lines   = Iterator.continually(line(in)).takeWhile(_.nonEmpty).toList
    val headers =
      lines.drop(1).map { case s"$name:$value" => name.trim.toLowerCase -> value.trim; case l => l -> "" }.toMap
    // What isn't HTTP (a TLS greeting) is hung up on.
    lines.headOption.map(_.split(' ')).collect { case Array(_, _, protocol) =>
      val body    = new String(in.readNBytes(headers.getOrElse("content-length", "0").toInt), UTF_8)
      val request = Request(protocol, headers, body)
      val index   = seen.size
      seen.add(request)
      val reply = answer(request, index)
      val head  = s"HTTP/1.1 ${reply.status} Stub" +: (reply.headers ++ Map(
        "Content-Length" -> reply.body.length.toString,
        "Connection"     -> "close"
      )).map { case (name, value) => s"$name: $value" }.toSeq
      connection.getOutputStream.write(head.mkString("", "\r\n", "\r\n\r\n").getBytes(ISO_8859_1))
      if (reply.drip == Duration.Zero) connection.getOutputStream.write(reply.body)
      else
        reply.body.foreach { byte =>
          connection.getOutputStream.write(byte.toInt)
          Thread.sleep(reply.drip.toMillis)
        }
    }
    ()
  }

  private def line(in: InputStream): String =
    Iterator.continually(in.read()).takeWhile(c => c >= 0 && c != '\n').map(_.toChar).mkString.trim

  override def close(): Unit = socket.close()
}

object StubServer {
  final case class Request(protocol: String, headers: Map[String, String], body: String)

  /** @param drip from one byte of the body to the next */
  final case class Answer(
      status: Int,
      body: Array[Byte] = Array.emptyByteArray,
      headers: Map[String, String] = Map.empty,
      drip: FiniteDuration = Duration.Zero
  )

  /** A result without fields, in the service's own encoding: CBOR's empty map. */
  val Empty: Answer = Answer(200, Array(0xa0.toByte), Map("Content-Type" -> "application/x-amz-cbor-1.1"))

  def error(status: Int, code: String, headers: (String, String)*): Answer =
    Answer(
      status,
      Array(0xa0.toByte),
      Map("Content-Type" -> "application/x-amz-cbor-1.1", "x-amzn-ErrorType" -> code) ++ headers
    )
}
