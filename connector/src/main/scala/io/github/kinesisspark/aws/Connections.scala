package io.github.kinesisspark.aws

import io.netty.channel.ChannelHandler
import io.netty.channel.socket.nio.NioSocketChannel
import software.amazon.awssdk.http.nio.netty.SdkEventLoopGroup

/** The JVM's threads for connections that have handlers of ours beside the SDK's. They end with the JVM, as those of the SDK do. */
private[aws] object Connections {
  private lazy val eventLoops = SdkEventLoopGroup.builder().build().eventLoopGroup

  /** @param handlers made for each connection, nearest to the network first */
  def having(handlers: Seq[() => ChannelHandler]): SdkEventLoopGroup = SdkEventLoopGroup.create(
    eventLoops,
    () => {
      val channel = new NioSocketChannel
      handlers.foreach(make => channel.pipeline.addLast(make()))
      channel
    }
  )
}
