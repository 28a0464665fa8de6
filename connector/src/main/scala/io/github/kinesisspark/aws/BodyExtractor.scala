package io.github.kinesisspark.aws

import java.nio.ByteBuffer
import java.util.Locale

import scala.collection.mutable

import org.reactivestreams.{Publisher, Subscriber, Subscription}
import software.amazon.awssdk.http.SdkHttpResponse

import io.github.kinesisspark.error.OneLine

/** The body of one answer, of which the largest part is read here, from the bytes that came. The SDK would copy all bytes into one array, make
  * several objects of each record, and leave them to the garbage collector. It gets the answer without that part.
  *
  * An answer that is in any way not as expected is the SDK's as it came, so what is wrong with it is found and said in one place.
  *
  * @param splitter of a media type in lower case, without parameters, if the part can be read out of it
  */
private[kinesisspark] abstract class BodyExtractor[A](splitter: String => Option[BodyExtractor.Splitter[A]])
    extends ResponseFilter {
  import BodyExtractor._

  /** What was read, or why the SDK decodes the answer. */
  @volatile private var outcome: Either[String, A] = Left("no body")

  /** None where the SDK has it. */
  protected final def part: Option[A] = outcome.toOption

  /** Why the SDK has decoded all of the answer; None where it has not. */
  final def leftToSdk: Option[String] = outcome.left.toOption

  override final def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer] = {
    val limited = ResponseFilter.Limited.through(answer, bytes)
    val split   = splitterOf(answer)
    // Of a call that was tried again, only this answer counts.
    outcome = Left(split.left.getOrElse("no whole body"))
    split.fold(_ => limited, split => to => limited.subscribe(new Collector(split, to)))
  }

  private def splitterOf(answer: SdkHttpResponse): Either[String, Splitter[A]] =
    if (!answer.isSuccessful) Left(s"HTTP status ${answer.statusCode}")
    else if (isEncoded(answer)) Left("a body that is compressed or has a checksum")
    else {
      val contentType = answer.firstMatchingHeader("Content-Type").orElse("")
      splitter(mediaType(contentType)).toRight(s"content type '${OneLine(contentType)}'")
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
        val extracted = SdkDecoding.unless(split(chunks))
        outcome = extracted.map(_._1)
        if (chunks.nonEmpty) to.onNext(extracted.fold(_ => joined(chunks), split => ByteBuffer.wrap(split._2)))
        to.onComplete()
      } catch { case unexpected: Throwable => to.onError(unexpected) }
  }
}

private[kinesisspark] object BodyExtractor {

  /** The part of a body, and the body without it. Throws where it is not as expected. */
  type Splitter[A] = collection.Seq[ByteBuffer] => (A, Array[Byte])

  /** The media types of Kinesis's answers, and of servers that do as it does. What others call CBOR may have times in seconds:
    * [[https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html Smithy's]].
    */
  val Cbor = "application/x-amz-cbor-1.1"
  val Json = "application/x-amz-json-1.1"

  private def mediaType(contentType: String) = contentType.takeWhile(_ != ';').trim.toLowerCase(Locale.ROOT)

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
