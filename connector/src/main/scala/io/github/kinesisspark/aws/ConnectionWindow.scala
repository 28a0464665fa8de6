package io.github.kinesisspark.aws

import io.netty.channel.{ChannelHandlerContext, ChannelInboundHandlerAdapter}
import io.netty.handler.codec.http2.{DefaultHttp2LocalFlowController, Http2Connection}
import software.amazon.awssdk.http.nio.netty.internal.ChannelAttributeKey

/** Gives an HTTP/2 connection its window back as its bytes are read. Netty waits until half of the window is used up; the SDK makes it as large as those of
  * all streams together. So where more than half of a connection's subscriptions were held back for lack of memory, what they had not read
  * took all that the service might send, and the others got nothing more until subscriptions ended, after 5 minutes.
  *
  * Runs on the connection's event loop, once.
  */
private[aws] final class ConnectionWindow extends ChannelInboundHandlerAdapter {
  override def channelReadComplete(context: ChannelHandlerContext): Unit = {
    // There since the connection speaks HTTP/2: behind TLS, after the handshake.
    Option(context.channel.attr(ChannelAttributeKey.HTTP2_CONNECTION).get).foreach { connection =>
      giveBackEarly(connection)
      context.pipeline.remove(this)
    }
    context.fireChannelReadComplete(): Unit
  }

  private def giveBackEarly(connection: Http2Connection): Unit = connection.local.flowController match {
    case netty: DefaultHttp2LocalFlowController =>
      netty.windowUpdateRatio(connection.connectionStream, ConnectionWindow.UpdateRatio)
    case _ => ()
  }
}

private[aws] object ConnectionWindow {

  /** What is left of the window when it is filled up again. The SDK's window is 1 MiB larger than those of all streams together, which is more than a hundredth
    * of it with up to some 190 streams.
    */
  private val UpdateRatio = 0.99f
}
