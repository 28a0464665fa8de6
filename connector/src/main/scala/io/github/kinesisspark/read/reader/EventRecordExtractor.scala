package io.github.kinesisspark.read.reader

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util
import java.util.concurrent.ConcurrentLinkedQueue

import scala.util.Try

import org.reactivestreams.{Publisher, Subscriber, Subscription => Flow}
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.model.SubscribeToShardEvent
import software.amazon.eventstream.{HeaderValue, Message, MessageFrame, MessageFrames}

import io.github.kinesisspark.aws.{DamagedAnswer, ResponseFilter, SdkDecoding}
import io.github.kinesisspark.position.ShardPosition

/** The events of one subscription. What [[RecordExtractor]] does for an answer it does for each event: the records are packed as they are read from
  * the event's bytes, and the SDK gets the event without them: in their place it gets one record that has nothing but a mark, by which the
  * event is known again. All else is the SDK's as it came, damage as well.
  *
  * Bytes come on the SDK's threads, one after the other.
  *
  * @param before what the bytes go through first
  */
final class EventRecordExtractor(before: ResponseFilter) extends ResponseFilter {
  import EventRecordExtractor._

  /** One entry for each event that the SDK has the bytes of, and has not made an object of: the records, unless the SDK has them too. */
  private val packed = new ConcurrentLinkedQueue[Records]

  /** Of the next event that the SDK has made an object of. */
  def next(): Records = Option(packed.poll()).getOrElse(LeftToSdk("no event's bytes"))

  override def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer] =
    if (!answer.isSuccessful) ResponseFilter.Limited.through(answer, before.through(answer, bytes))
    else to => before.through(answer, bytes).subscribe(new Passage(to))

  private final class Passage(to: Subscriber[_ >: ByteBuffer]) extends Subscriber[ByteBuffer] {
    private val out            = new ByteArrayOutputStream
    private val frames         = new MessageFrames(message => pass(message))
    private var isDamaged      = false
    private var marks          = 0L
    @volatile private var flow = Option.empty[Flow]

    override def onSubscribe(from: Flow): Unit = {
      flow = Some(from)
      to.onSubscribe(from)
    }

    override def onNext(bytes: ByteBuffer): Unit =
      // An Error would be lost in the SDK's thread.
      try
        if (isDamaged) to.onNext(bytes)
        else {
          try frames.feed(bytes)
          catch {
            case _: IllegalArgumentException =>
              isDamaged = true
              write(frames.held)
              write(bytes)
          }
          // Whoever asked for bytes gets some.
          if (out.size == 0) flow.foreach(_.request(1))
          else {
            val message = ByteBuffer.wrap(out.toByteArray)
            out.reset()
            to.onNext(message)
          }
        }
      catch {
        case unexpected: Throwable =>
          flow.foreach(_.cancel())
          to.onError(unexpected)
      }

    override def onError(cause: Throwable): Unit = to.onError(cause)
    override def onComplete(): Unit              = to.onComplete()

    private def pass(message: ByteBuffer): Unit =
      Try(MessageFrame.read(message)).toOption.filter(frame => isEvent(frame.headers)) match {
        case None        => write(message)
        case Some(frame) =>
          marks += 1
          val mark = s"event-$marks"
          SdkDecoding.unless(JsonRecords.split(frame.payload, inPlaceOfRecords(mark))) match {
            case Left(cause) =>
              packed.add(LeftToSdk(cause))
              write(message)
            case Right((records, rest)) =>
              packed.add(Packed(mark, records))
              new Message(frame.headers, rest).encode(out)
          }
      }

    private def write(bytes: ByteBuffer): Unit = {
      val all = new Array[Byte](bytes.remaining)
      bytes.duplicate().get(all)
      out.write(all, 0, all.length)
    }
  }
}

object EventRecordExtractor {

  /** Those of one event. */
  sealed trait Records {

    /** Those after a position.
      *
      * @param event what the SDK made of it
      * @throws io.github.kinesisspark.aws.DamagedAnswer where something is missing in them, they are out of order, or the SDK has made the event
      *                                                  of another one's bytes
      */
    def of(event: SubscribeToShardEvent, position: ShardPosition): Array[KinesisRecord] = this match {
      case Packed(mark, records) =>
        val theirs = event.records
        if (theirs.size != 1 || theirs.get(0).sequenceNumber != mark)
          throw new DamagedAnswer(s"The AWS SDK passed on another event than the one marked '$mark'")
        KinesisRecord.after(position, records)
      // A mark is no sequence number, so those of an event that is marked are refused.
      case _: LeftToSdk => KinesisRecord.after(position, event.records)
    }

    /** Why the SDK has decoded them; None where it has not. */
    def leftToSdk: Option[String] = this match {
      case LeftToSdk(cause) => Some(cause)
      case _: Packed        => None
    }
  }
  private final case class Packed(mark: String, records: Array[KinesisRecord]) extends Records

  /** The event has them itself. */
  private final case class LeftToSdk(cause: String) extends Records

  private def inPlaceOfRecords(mark: String) = s"""[{"SequenceNumber":"$mark"}]""".getBytes(ISO_8859_1)

  private def isEvent(headers: util.Map[String, HeaderValue]) =
    says(headers, ":message-type", "event") && says(headers, ":event-type", "SubscribeToShardEvent")

  private def says(headers: util.Map[String, HeaderValue], name: String, text: String) =
    Option(headers.get(name)).exists(value => Try(value.getString).toOption.contains(text))
}
