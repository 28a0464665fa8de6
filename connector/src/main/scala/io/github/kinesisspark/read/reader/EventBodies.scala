package io.github.kinesisspark.read.reader

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.util.concurrent.ConcurrentLinkedQueue

import scala.util.Try

import org.reactivestreams.{Publisher, Subscriber, Subscription => Flow}
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.model.SubscribeToShardEvent
import software.amazon.eventstream.{Message, MessageDecoder}

import io.github.kinesisspark.aws.AnswerBytes
import io.github.kinesisspark.position.ShardPosition

/** The events of one subscription. What [[AnswerBody]] does for an answer it does for each event: the records are packed as they are read from
  * the event's bytes, and the SDK gets the event without them. All else that comes is the SDK's as it is.
  *
  * @param before what the bytes go through first
  */
final class EventBodies(before: AnswerBytes) extends AnswerBytes {

  /** Of each event that the SDK has been given and has not made an object of; none where the event is the SDK's as it came. */
  private val read = new ConcurrentLinkedQueue[Option[Array[KinesisRecord]]]

  /** The SDK has made an object of the next event. */
  def next(): EventBodies.Records = EventBodies.Records(Option(read.poll()).flatten)

  override def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer] =
    if (!answer.isSuccessful) before.through(answer, bytes)
    else to => before.through(answer, bytes).subscribe(new Passage(to))

  private final class Passage(to: Subscriber[_ >: ByteBuffer]) extends Subscriber[ByteBuffer] {
    private val whole          = new ByteArrayOutputStream
    private val decoder        = new MessageDecoder(message => pass(message))
    @volatile private var from = Option.empty[Flow]

    override def onSubscribe(flow: Flow): Unit = {
      from = Some(flow)
      to.onSubscribe(flow)
    }
    override def onNext(bytes: ByteBuffer): Unit =
      try {
        decoder.feed(bytes)
        // Whoever asked for bytes gets some.
        if (whole.size == 0) from.foreach(_.request(1))
        else {
          val next = ByteBuffer.wrap(whole.toByteArray)
          whole.reset()
          to.onNext(next)
        }
      } catch {
        case damaged: Throwable =>
          from.foreach(_.cancel())
          to.onError(damaged)
      }
    override def onError(cause: Throwable): Unit = to.onError(cause)
    override def onComplete(): Unit              = to.onComplete()

    private def pass(message: Message): Unit =
      if (!EventBodies.isEvent(message)) message.encode(whole)
      else {
        val split = EventBodies.format(message).flatMap { format =>
          Try(AnswerBody.split(format, new AnswerBody.Chunks(Seq(ByteBuffer.wrap(message.getPayload))))).toOption
        }
        read.add(split.map(_._1))
        split.fold(message)(parts => new Message(message.getHeaders, parts._2)).encode(whole)
      }
  }
}

object EventBodies {

  /** Those of one event. */
  final case class Records(read: Option[Array[KinesisRecord]]) {

    /** Those after a position.
      *
      * @param event what the SDK made of it
      * @throws io.github.kinesisspark.aws.DamagedAnswer where something is missing in them, or they are out of order
      */
    def of(event: SubscribeToShardEvent, position: ShardPosition): Array[KinesisRecord] =
      read.fold(KinesisRecord.after(position, event.records))(KinesisRecord.after(position, _))
  }

  private def isEvent(message: Message) =
    header(message, ":message-type").contains("event") && header(message, ":event-type").contains(
      "SubscribeToShardEvent"
    )

  private def format(message: Message) = header(message, ":content-type").flatMap(AnswerBody.format)

  private def header(message: Message, name: String) =
    Option(message.getHeaders.get(name)).flatMap(value => Try(value.getString).toOption)
}
