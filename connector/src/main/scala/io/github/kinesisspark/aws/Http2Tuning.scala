package io.github.kinesisspark.aws

import io.netty.buffer.{ByteBuf, ByteBufAllocator}
import io.netty.channel.{ChannelHandlerContext, ChannelInboundHandlerAdapter}
import io.netty.handler.codec.ByteToMessageDecoder.Cumulator
import io.netty.handler.codec.http2.{DefaultHttp2LocalFlowController, Http2Connection, Http2FrameCodec}
import software.amazon.awssdk.http.nio.netty.internal.ChannelAttributeKey

/** Settings of an HTTP/2 connection for which the SDK has no option.
  *
  * The connection's window is given back as its bytes are read. Netty waits until half of the window is used up; the SDK makes it as large as those of
  * all streams together. So where more than half of a connection's subscriptions were held back for lack of memory, what they had not read
  * took all that the service might send, and the others got nothing more until subscriptions ended, after 5 minutes.
  *
  * What is left of the last read goes into a new buffer with the next one ([[Http2Tuning.Leftovers]]).
  *
  * Runs on the connection's event loop, once.
  */
private[aws] final class Http2Tuning extends ChannelInboundHandlerAdapter {
  override def channelReadComplete(context: ChannelHandlerContext): Unit = {
    // There since the connection speaks HTTP/2: behind TLS, after the handshake.
    Option(context.channel.attr(ChannelAttributeKey.HTTP2_CONNECTION).get).foreach { connection =>
      giveBackEarly(connection)
      Option(context.pipeline.get(classOf[Http2FrameCodec])).foreach(_.setCumulator(Http2Tuning.Leftovers))
      context.pipeline.remove(this)
    }
    context.fireChannelReadComplete(): Unit
  }

  private def giveBackEarly(connection: Http2Connection): Unit = connection.local.flowController match {
    case netty: DefaultHttp2LocalFlowController =>
      netty.windowUpdateRatio(connection.connectionStream, Http2Tuning.UpdateRatio)
    case _ => ()
  }
}

private[aws] object Http2Tuning {

  /** What is left of the window when it is filled up again. The SDK's window is 1 MiB larger than those of all streams together, which is more than a hundredth
    * of it with up to some 190 streams.
    */
  private val UpdateRatio = 0.99f

  /** Puts the part of a frame that the last read brought, and the next read, into a new buffer.
    *
    * Netty's own appends to the buffer that there is, and drops from it what was decoded only when no frame of it is in use at the end of a read. Frames
    * wait for demand there. So on a connection that always has more to read the buffer grew by megabytes, was copied as a whole
    * each time, and the event loop took up to ten times the CPU.
    */
  private[aws] val Leftovers: Cumulator = (allocator: ByteBufAllocator, left: ByteBuf, read: ByteBuf) =>
    if (!left.isReadable && read.isContiguous) {
      left.release()
      read
    } else
      try {
        val both = allocator.buffer(left.readableBytes + read.readableBytes).writeBytes(left).writeBytes(read)
        left.release()
        both
      } finally read.release(): Unit
}
