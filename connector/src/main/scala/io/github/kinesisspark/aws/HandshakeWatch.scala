package io.github.kinesisspark.aws

import javax.net.ssl.{SSLException, SSLHandshakeException}

import io.netty.channel.{Channel, ChannelHandlerContext, ChannelInboundHandlerAdapter}
import io.netty.channel.socket.nio.NioSocketChannel
import io.netty.handler.ssl.{ApplicationProtocolNames, SslHandler}
import io.netty.util.concurrent.{Future, GenericFutureListener}
import software.amazon.awssdk.http.nio.netty.SdkEventLoopGroup
import software.amazon.awssdk.http.nio.netty.internal.ChannelAttributeKey

/** Fails the calls of a connection whose TLS handshake fails, with that failure. Runs on the connection's event loop.
  *
  * The SDK leaves two gaps, with servers other than AWS's. A call that waits for ALPN waits until its own time limit, because only a
  * handshake that succeeds brings the handlers that end the wait. A call over HTTP/1.1 fails as on a connection that was closed, which
  * does not point to TLS.
  */
private[aws] final class HandshakeWatch extends ChannelInboundHandlerAdapter {

  override def channelActive(context: ChannelHandlerContext): Unit = {
    Option(context.pipeline.get(classOf[SslHandler])).foreach { tls =>
      val listener: GenericFutureListener[Future[Channel]] = handshake => ended(context, tls, handshake)
      tls.handshakeFuture.addListener(listener)
    }
    context.fireChannelActive(): Unit
  }

  private def ended(context: ChannelHandlerContext, tls: SslHandler, handshake: Future[Channel]): Unit = {
    // Over HTTP/1.1 the SDK has set it when it made the connection.
    val protocol = context.channel.attr(ChannelAttributeKey.PROTOCOL_FUTURE).get
    if (!handshake.isSuccess) {
      val failure = HandshakeWatch.failureOf(handshake.cause)
      if (!protocol.completeExceptionally(failure)) context.fireExceptionCaught(failure): Unit
    } else if (!protocol.isDone && tls.applicationProtocol != ApplicationProtocolNames.HTTP_2) {
      protocol.completeExceptionally(new SSLHandshakeException("The server does not offer HTTP/2 by ALPN."))
      context.close(): Unit
    }
  }
}

private[aws] object HandshakeWatch {

  /** Of connections that are watched. They have threads of their client's own, which end with it. */
  def connections: SdkEventLoopGroup.Builder = SdkEventLoopGroup.builder().channelFactory { () =>
    val channel = new NioSocketChannel
    channel.pipeline.addLast(new HandshakeWatch)
    channel
  }

  private def failureOf(cause: Throwable): Throwable = cause match {
    case tls: SSLException => tls
    case other             =>
      val ended = new SSLHandshakeException("The connection ended during the TLS handshake.")
      ended.initCause(other)
      ended
  }
}
