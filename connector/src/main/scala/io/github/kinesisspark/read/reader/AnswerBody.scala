package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer

import scala.collection.mutable
import scala.util.Try

import org.reactivestreams.{Publisher, Subscriber, Subscription => Flow}
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.model.GetRecordsResponse

import io.github.kinesisspark.aws.AnswerBytes
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.read.reader.AnswerBody._

/** The body of one answer to GetRecords. Its records are packed as they are read from the bytes that came; the SDK would copy all bytes into
  * one array, make several objects of each record, and leave them to the garbage collector. It gets the answer without its records.
  *
  * An answer that is in any way not as expected is the SDK's as it came, so what is wrong with it is found and said in one place.
  */
final class AnswerBody extends AnswerBytes {
  @volatile private var read = Option.empty[Array[KinesisRecord]]

  /** Those after a position.
    *
    * @param answer what the SDK made of the body
    * @throws io.github.kinesisspark.aws.DamagedAnswer where something is missing in them, or they are out of order
    */
  def records(answer: GetRecordsResponse, position: ShardPosition): Array[KinesisRecord] =
    read.fold(KinesisRecord.after(position, answer.records))(KinesisRecord.after(position, _))

  /** All of them. */
  def records(answer: GetRecordsResponse): Array[KinesisRecord] = records(answer, ShardPosition.TrimHorizon)

  override def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer] = {
    val limited = AnswerBytes.Limited.through(answer, bytes)
    // Of a call that was tried again, only this answer counts.
    read = None
    Option(answer.firstMatchingHeader("Content-Type").orElse(null))
      .filter(_ => answer.isSuccessful && !isEncoded(answer))
      .flatMap(splitter)
      .fold(limited)(split => to => limited.subscribe(new Collector(split, to)))
  }

  /** Waits for the whole body. */
  private final class Collector(split: Splitter, to: Subscriber[_ >: ByteBuffer]) extends Subscriber[ByteBuffer] {
    private val chunks = mutable.ArrayBuffer.empty[ByteBuffer]

    override def onSubscribe(flow: Flow): Unit = to.onSubscribe(new Flow {
      // Whoever wants any of it wants all.
      override def request(some: Long): Unit = flow.request(Long.MaxValue)
      override def cancel(): Unit            = flow.cancel()
    })
    override def onNext(bytes: ByteBuffer): Unit = chunks += bytes
    override def onError(cause: Throwable): Unit = to.onError(cause)
    override def onComplete(): Unit              =
      // An Error would be lost in the SDK's thread.
      try {
        val rest = Try(split(chunks)).toOption.map { case (records, rest) =>
          read = Some(records)
          ByteBuffer.wrap(rest)
        }
        if (chunks.nonEmpty) to.onNext(rest.getOrElse(joined(chunks)))
        to.onComplete()
      } catch { case unexpected: Throwable => to.onError(unexpected) }
  }
}

private[reader] object AnswerBody {

  /** The records of a body, and the body without them. Throws where it is not as expected. */
  private[reader] type Splitter = collection.Seq[ByteBuffer] => (Array[KinesisRecord], Array[Byte])

  /** By its media type. */
  private[reader] def splitter(contentType: String): Option[Splitter] =
    if (contentType.contains("cbor")) Some(CborRecords.split)
    else if (contentType.contains("json")) Some(chunks => JsonRecords.split(joined(chunks)))
    else None

  /** Compressed, or with a checksum that the SDK compares with the body it sees. */
  private def isEncoded(answer: SdkHttpResponse) =
    answer.firstMatchingHeader("Content-Encoding").isPresent || answer.firstMatchingHeader("x-amz-crc32").isPresent

  private def joined(chunks: collection.Seq[ByteBuffer]) = {
    val all = ByteBuffer.allocate(chunks.iterator.map(_.remaining).sum)
    chunks.foreach(chunk => all.put(chunk.duplicate()))
    all.flip()
    all
  }
}
