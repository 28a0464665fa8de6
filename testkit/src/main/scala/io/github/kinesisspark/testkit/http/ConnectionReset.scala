package io.github.kinesisspark.testkit.http

import org.eclipse.jetty.io.ssl.SslConnection
import org.eclipse.jetty.io.{EndPoint, EofException, SocketChannelEndPoint}
import org.eclipse.jetty.server.{Request, Response}
import org.eclipse.jetty.util.Callback

import java.net.StandardSocketOptions
import java.nio.ByteBuffer
import scala.annotation.tailrec

/** Breaks the TCP connection under a request, as a peer that went away: a reset, not an orderly end. */
private[http] object ConnectionReset {
  private val Cause = new EofException("Connection reset by the fault plan")

  def now(request: Request, callback: Callback): Unit = {
    cut(request.getConnectionMetaData.getConnection.getEndPoint)
    callback.failed(Cause)
  }

  /** Resets the HTTP/2 stream of a request whose answer has begun; with HTTP/1.1 its connection. */
  def streamAlone(callback: Callback): Unit = callback.failed(Cause)

  /** Sends the head and `part` of the body, then cuts. */
  def insideBody(request: Request, response: Response, part: Vector[ByteBuffer], callback: Callback): Unit = {
    val cutting = Callback.from(() => now(request, callback))
    part match {
      case first +: rest =>
        response.write(
          false,
          first,
          Callback.from(() => insideBody(request, response, rest, callback), e => callback.failed(e))
        )
      case _ => response.write(false, ByteBuffer.allocate(0), cutting)
    }
  }

  @tailrec private def cut(endPoint: EndPoint): Unit = endPoint match {
    case tls: SslConnection#SslEndPoint => cut(tls.getSslConnection.getEndPoint)
    case tcp: SocketChannelEndPoint     =>
      // With nothing to linger for, closing sends RST instead of FIN.
      tcp.getChannel.setOption(StandardSocketOptions.SO_LINGER, Integer.valueOf(0))
      tcp.close(Cause)
    case other => other.close(Cause)
  }
}
