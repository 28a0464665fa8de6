package io.github.kinesisspark.read.reader

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.util
import java.util.concurrent.ConcurrentLinkedQueue

import scala.util.Try

import org.reactivestreams.{Publisher, Subscriber, Subscription => Flow}
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.model.SubscribeToShardEvent
import software.amazon.eventstream.{HeaderValue, Message, MessageFrame, MessageFrames}

import io.github.kinesisspark.aws.AnswerBytes
import io.github.kinesisspark.position.ShardPosition

/** The events of one subscription. What [[AnswerBody]] does for an answer it does for each event: the records are packed as they are read from
  * the event's bytes, and the SDK gets the event without them. All else is the SDK's as it came, damage as well.
  *
  * Bytes come on the SDK's threads, one after the other.
  *
  * @param before what the bytes go through first
  */
final class EventBodies(before: AnswerBytes) extends AnswerBytes {
  import EventBodies._

  /** One entry for each event that the SDK has the bytes of, and has not made an object of: the records, unless the SDK has them too. */
  private val packed = new ConcurrentLinkedQueue[Records]

  /** Of the next event that the SDK has made an object of. */
  def next(): Records = Option(packed.poll()).getOrElse(TheSdks)

  override def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer] =
    if (!answer.isSuccessful) before.through(answer, bytes)
    else to => before.through(answer, bytes).subscribe(new Passage(to))

  private final class Passage(to: Subscriber[_ >: ByteBuffer]) extends Subscriber[ByteBuffer] {
    private val out            = new ByteArrayOutputStream
    private val frames         = new MessageFrames(message => pass(message))
    private var isDamaged      = false
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
            val whole = ByteBuffer.wrap(out.toByteArray)
            out.reset()
            to.onNext(whole)
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
          Try(JsonRecords.split(frame.payload)).toOption match {
            case None =>
              packed.add(TheSdks)
              write(message)
            case Some((records, rest)) =>
              packed.add(Packed(records))
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

object EventBodies {

  /** Those of one event. */
  sealed trait Records {

    /** Those after a position.
      *
      * @param event what the SDK made of it
      * @throws io.github.kinesisspark.aws.DamagedAnswer where something is missing in them, or they are out of order
      */
    def of(event: SubscribeToShardEvent, position: ShardPosition): Array[KinesisRecord] = this match {
      case Packed(records) => KinesisRecord.after(position, records)
      case TheSdks         => KinesisRecord.after(position, event.records)
    }
  }
  private final case class Packed(records: Array[KinesisRecord]) extends Records

  /** The event has them itself. */
  case object TheSdks extends Records

  private def isEvent(headers: util.Map[String, HeaderValue]) =
    says(headers, ":message-type", "event") && says(headers, ":event-type", "SubscribeToShardEvent")

  private def says(headers: util.Map[String, HeaderValue], name: String, text: String) =
    Option(headers.get(name)).exists(value => Try(value.getString).toOption.contains(text))
}
