package io.github.kinesisspark.testkit

import java.io.{ByteArrayOutputStream, DataInputStream, IOException}
import java.net.{Socket, URI}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, CopyOnWriteArrayList, TimeUnit}
import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

/** One cleartext HTTP/2 connection without a client library, so that a test sees its frames (RFC 9113, section 4.1). A
  * thread of its own reads them.
  */
final class RawHttp2(endpoint: URI) extends AutoCloseable {
  import RawHttp2._

  private val socket      = new Socket(endpoint.getHost, endpoint.getPort)
  private val in          = new DataInputStream(socket.getInputStream)
  private val streamLimit = new CompletableFuture[Int]
  private val answers     = new ConcurrentHashMap[Int, CompletableFuture[Int]]
  private val goAwaysSeen = new CopyOnWriteArrayList[GoAway]
  private var nextStream  = 1

  send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(US_ASCII) ++ frame(Settings, 0, 0, Array.empty))
  private val reader = new Thread(() => readFrames(), "raw-http2")
  reader.setDaemon(true)
  reader.start()

  /** The server's SETTINGS_MAX_CONCURRENT_STREAMS. */
  def maxConcurrentStreams: Int = streamLimit.get(Patience, TimeUnit.SECONDS)

  /** The GOAWAY frames that came. */
  def goAways: Vector[GoAway] = goAwaysSeen.asScala.toVector

  /** Asks for the server's health on a stream of its own: the answer's status. */
  def health(): Int = {
    val stream = nextStream
    nextStream += 2
    val answer = new CompletableFuture[Int]
    answers.put(stream, answer)
    send(frame(Headers, EndOfHeaders | EndOfStream, stream, HealthRequest))
    answer.get(Patience, TimeUnit.SECONDS)
  }

  override def close(): Unit = socket.close()

  private def send(bytes: Array[Byte]): Unit = {
    socket.getOutputStream.write(bytes)
    socket.getOutputStream.flush()
  }

  private def readFrames(): Unit =
    try while (true) readFrame()
    catch { case _: IOException => () } // It is closed.

  private def readFrame(): Unit = {
    val length  = (in.readUnsignedByte() << 16) | in.readUnsignedShort()
    val kind    = in.readUnsignedByte()
    val flags   = in.readUnsignedByte()
    val stream  = in.readInt() & Int.MaxValue
    val payload = ByteBuffer.wrap(in.readNBytes(length))
    kind match {
      case Settings if (flags & Ack) == 0 =>
        while (payload.hasRemaining) {
          val name  = payload.getShort
          val value = payload.getInt
          if (name == MaxConcurrentStreams) streamLimit.complete(value)
        }
      case Headers =>
        answers.get(stream).complete(if (firstField(payload) == StatusOk) 200 else -1)
      case GoAwayFrame => goAwaysSeen.add(GoAway(payload.getInt, payload.getInt))
      case _           => ()
    }
  }
}

object RawHttp2 {
  final case class GoAway(lastStream: Int, error: Int)

  private val Patience = 20L

  private val Headers              = 0x1
  private val Settings             = 0x4
  private val GoAwayFrame          = 0x7
  private val Ack                  = 0x1
  private val EndOfStream          = 0x1
  private val EndOfHeaders         = 0x4
  private val MaxConcurrentStreams = 0x3

  // HPACK's static table (RFC 7541, appendix A): fields by index, or a value for a name by index.
  private val StatusOk      = 0x88.toByte
  private val HealthRequest =
    Array(0x82.toByte, 0x86.toByte) ++ literal(0x04, "/_testkit/health") ++ literal(0x01, "localhost")

  // A block of fields may begin with a change of the table's size (RFC 7541, section 6.3).
  @tailrec private def firstField(block: ByteBuffer): Byte = {
    val first = block.get
    if ((first & 0xe0) != 0x20) first
    else {
      if ((first & 0x1f) == 0x1f) while ((block.get & 0x80) != 0) ()
      firstField(block)
    }
  }

  private def literal(name: Int, value: String): Array[Byte] =
    Array(name.toByte, value.length.toByte) ++ value.getBytes(US_ASCII)

  private def frame(kind: Int, flags: Int, stream: Int, payload: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    out.writeBytes(
      ByteBuffer
        .allocate(9)
        .put((payload.length >> 16).toByte)
        .putShort(payload.length.toShort)
        .put(kind.toByte)
        .put(flags.toByte)
        .putInt(stream)
        .array
    )
    out.writeBytes(payload)
    out.toByteArray
  }
}
