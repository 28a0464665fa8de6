package io.github.kinesisspark.aws

import java.nio.ByteBuffer

import scala.collection.mutable
import scala.util.Try

import org.reactivestreams.{Publisher, Subscriber, Subscription}
import software.amazon.awssdk.http.SdkHttpResponse

/** The body of one answer, of which the largest part is read here, from the bytes that came. The SDK would copy all bytes into one array, make
  * several objects of each record, and leave them to the garbage collector. It gets the answer without that part.
  *
  * An answer that is in any way not as expected is the SDK's as it came, so what is wrong with it is found and said in one place.
  *
  * @param splitter of a media type, if the part can be read out of it
  */
private[kinesisspark] abstract class SplitAnswer[A](splitter: String => Option[SplitAnswer.Splitter[A]])
    extends AnswerBytes {
  import SplitAnswer._

  @volatile private var read = Option.empty[A]

  /** None where the SDK has it. */
  protected final def part: Option[A] = read

  override final def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer] = {
    val limited = AnswerBytes.Limited.through(answer, bytes)
    // Of a call that was tried again, only this answer counts.
    read = None
    Option(answer.firstMatchingHeader("Content-Type").orElse(null))
      .filter(_ => answer.isSuccessful && !isEncoded(answer))
      .flatMap(splitter)
      .fold(limited)(split => to => limited.subscribe(new Collector(split, to)))
  }

  /** Waits for the whole body. */
  private final class Collector(split: Splitter[A], to: Subscriber[_ >: ByteBuffer]) extends Subscriber[ByteBuffer] {
    private val chunks = mutable.ArrayBuffer.empty[ByteBuffer]

    override def onSubscribe(flow: Subscription): Unit = to.onSubscribe(new Subscription {
      // Whoever wants any of it wants all.
      override def request(some: Long): Unit = flow.request(Long.MaxValue)
      override def cancel(): Unit            = flow.cancel()
    })
    override def onNext(bytes: ByteBuffer): Unit = chunks += bytes
    override def onError(cause: Throwable): Unit = to.onError(cause)
    override def onComplete(): Unit              =
      // An Error would be lost in the SDK's thread.
      try {
        val rest = Try(split(chunks)).toOption.map { case (part, rest) =>
          read = Some(part)
          ByteBuffer.wrap(rest)
        }
        if (chunks.nonEmpty) to.onNext(rest.getOrElse(joined(chunks)))
        to.onComplete()
      } catch { case unexpected: Throwable => to.onError(unexpected) }
  }
}

private[kinesisspark] object SplitAnswer {

  /** The part of a body, and the body without it. Throws where it is not as expected. */
  type Splitter[A] = collection.Seq[ByteBuffer] => (A, Array[Byte])

  def isCbor(contentType: String): Boolean = contentType.contains("cbor")

  def joined(chunks: collection.Seq[ByteBuffer]): ByteBuffer = {
    val all = ByteBuffer.allocate(chunks.iterator.map(_.remaining).sum)
    chunks.foreach(chunk => all.put(chunk.duplicate()))
    all.flip()
    all
  }

  /** Compressed, or with a checksum that the SDK compares with the body it sees. */
  private def isEncoded(answer: SdkHttpResponse) =
    answer.firstMatchingHeader("Content-Encoding").isPresent || answer.firstMatchingHeader("x-amz-crc32").isPresent
}
