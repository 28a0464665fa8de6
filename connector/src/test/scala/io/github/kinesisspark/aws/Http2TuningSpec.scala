package io.github.kinesisspark.aws

import scala.collection.mutable
import scala.util.Random

import io.netty.buffer.{ByteBuf, Unpooled, UnpooledByteBufAllocator}
import io.netty.channel.embedded.EmbeddedChannel
import io.netty.channel.{ChannelHandlerContext, ChannelInboundHandlerAdapter}
import io.netty.handler.codec.http2._
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.http.nio.netty.internal.ChannelAttributeKey

class Http2TuningSpec extends AnyFunSpec with Matchers {
  private val FrameBytes = 16384
  private val ReadBytes  = 65536
  private val Reads      = 500
  private val StreamId   = 2.toByte

  describe("an HTTP/2 connection whose frames are used after each read") {
    it("keeps a few reads in memory, however many follow one another within a frame") {
      val memory  = new UnpooledByteBufAllocator(false)
      val frames  = new Frames
      val channel = open(memory, frames)
      val sent    = bytes(FrameBytes)
      // Of a type that Netty doesn't know, as no window limits those.
      val frame     = Array[Byte](0, 0x40, 0, 0x2a, 0, 0, 0, 0, StreamId) ++ sent
      val all       = Iterator.continually(frame).flatten
      var most      = 0L
      val untouched = (1 to Reads).forall { _ =>
        channel.writeInbound(memory.heapBuffer(ReadBytes).writeBytes(all.take(ReadBytes).toArray))
        most = most.max(memory.metric.usedHeapMemory)
        frames.release(as = sent)
      }
      untouched shouldBe true
      frames.count should be >= (Reads.toLong - 1) * ReadBytes / frame.length
      most should be <= 4L * ReadBytes
      channel.finishAndReleaseAll()
      memory.metric.usedHeapMemory shouldBe 0
    }
  }

  private def bytes(n: Int) = new Random(1).nextBytes(n)

  /** A client's end, with a stream that the server has opened: its own would take a request. */
  private def open(memory: UnpooledByteBufAllocator, frames: Frames): EmbeddedChannel = {
    val codec   = Http2FrameCodecBuilder.forClient.build
    val channel = new EmbeddedChannel(new Http2Tuning, codec, frames)
    channel.config.setAllocator(memory)
    channel.attr(ChannelAttributeKey.HTTP2_CONNECTION).set(codec.connection)
    val settings = Array[Byte](0, 0, 0, 4, 0, 0, 0, 0, 0)
    channel.writeInbound(memory.heapBuffer.writeBytes(settings))
    codec.connection.remote.createStream(StreamId.toInt, false)
    channel
  }

  /** Keeps frames until they are released, as a subscription does that waits for demand. */
  private final class Frames extends ChannelInboundHandlerAdapter {
    private val kept = mutable.ArrayBuffer.empty[ByteBuf]

    /** So far. */
    var count = 0L

    override def channelRead(context: ChannelHandlerContext, message: AnyRef): Unit = message match {
      case frame: Http2UnknownFrame =>
        kept += frame.content
        count += 1
      case _ => ()
    }

    /** Whether they were as they should be. */
    def release(as: Array[Byte]): Boolean = {
      val isRight = kept.forall(_.equals(Unpooled.wrappedBuffer(as)))
      kept.foreach(_.release(): Unit)
      kept.clear()
      isRight
    }
  }
}
