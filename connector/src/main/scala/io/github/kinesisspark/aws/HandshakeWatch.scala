package io.github.kinesisspark.aws

import javax.net.ssl.{SSLException, SSLHandshakeException}

import io.netty.channel.{Channel, ChannelDuplexHandler, ChannelHandlerContext, ChannelPromise}
import io.netty.handler.ssl.SslHandler
import io.netty.util.concurrent.{Future, GenericFutureListener}
import software.amazon.awssdk.http.nio.netty.internal.ChannelAttributeKey

import scala.jdk.CollectionConverters._

/** Fails the calls of a connection whose TLS handshake fails, with that failure. Runs on the connection's event loop.
  *
  * The SDK leaves two gaps. A call that waits for ALPN waits until its own time limit, because only a handshake that succeeds brings the
  * handlers that end the wait. A call over HTTP/1.1 fails as on a connection that was closed, which does not point to TLS.
  */
private[aws] final class HandshakeWatch extends ChannelDuplexHandler {
  private var watched = false

  /** TLS is there once it writes its first record: at once, or behind a proxy when the tunnel through it is open. */
  override def write(context: ChannelHandlerContext, message: Any, promise: ChannelPromise): Unit = {
    if (!watched) begin(context)
    context.write(message, promise): Unit
  }

  private def begin(context: ChannelHandlerContext): Unit =
    // Made when the way to the server is ready, so TLS before that is the proxy's.
    Option(context.channel.attr(ChannelAttributeKey.PROTOCOL_FUTURE).get).foreach { _ =>
      context.pipeline.iterator.asScala
        .map(_.getValue)
        .collect { case tls: SslHandler => tls }
        .toSeq
        .lastOption
        .foreach { tls =>
          watched = true
          val listener: GenericFutureListener[Future[Channel]] = handshake => ended(context, handshake)
          tls.handshakeFuture.addListener(listener)
        }
    }

  private def ended(context: ChannelHandlerContext, handshake: Future[Channel]): Unit =
    if (!handshake.isSuccess) {
      val failure = HandshakeWatch.failureOf(handshake.cause)
      // Over HTTP/1.1 the SDK has set it when it made the connection.
      val protocol = context.channel.attr(ChannelAttributeKey.PROTOCOL_FUTURE).get
      if (!protocol.completeExceptionally(failure)) context.fireExceptionCaught(failure): Unit
    }
}

private[aws] object HandshakeWatch {

  private def failureOf(cause: Throwable): Throwable = cause match {
    case tls: SSLException => tls
    case other             =>
      val ended = new SSLHandshakeException("The connection ended during the TLS handshake.")
      ended.initCause(other)
      ended
  }
}
