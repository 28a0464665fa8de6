package io.github.kinesisspark.fuzz

import java.nio.ByteBuffer

import scala.jdk.CollectionConverters._
import scala.util.Try

import software.amazon.eventstream.{Message, MessageDecoder}

import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.position.{ConsumerArn, ShardPosition}
import io.github.kinesisspark.read.reader.{
  FanOutRecordPublisher,
  ReaderTelemetry,
  ReadingClient,
  RecordPublisher,
  Subscription
}

/** Answers of SubscribeToShard: the records of the events before the first damage are delivered, the damage makes a failure or
  * another call, later.
  */
object PushedEvents extends Target {
  override val name = "pushed"

  import Desk.runtime

  private val http = new CannedHttp
  // From a record on, those up to it would be left out.
  private val from     = ShardPosition.TrimHorizon
  private val consumer = ConsumerArn(s"${Desk.shard.stream}/consumer/app:1700000000")
  private val reach    = ReadingClient(http.client, CallRetries.default, isAws = false, () => false, () => ())

  override def check(input: Array[Byte]): Unit = if (input.length >= 2) {
    val body   = Frames.sealing(input.drop(2))
    val answer = Answer.of(input.take(2) ++ body, "application/vnd.amazon.eventstream")
    val desk   = new Desk
    val pushed = subscribed(answer, desk)
    checkOutcome(desk, answer, body)
    desk.checkDeliveries(from)
    pushed.close()
    desk.run()
    Broken.unless(desk.budget.used == desk.delivered.map(_.totals.heap).sum)("memory is not given back")
  }

  /** A publisher that has delivered all that it takes from its call. */
  private[fuzz] def subscribed(
      answer: Answer,
      desk: Desk,
      telemetry: ReaderTelemetry = new ReaderTelemetry
  ): RecordPublisher = {
    http.answer = _ => answer
    val pushed = new FanOutRecordPublisher(
      Desk.shard,
      from,
      System.nanoTime(),
      consumer,
      reach,
      desk,
      telemetry,
      (_, _) => throw new Broken("nobody said that the shard is closed"),
      isNamedSince = _ => true,
      desk
    )
    take(pushed, desk)
    pushed
  }

  /** Asks for one delivery after the other, as a reader with room does. */
  private def take(pushed: RecordPublisher, desk: Desk): Unit = {
    var before = -1
    while (desk.delivered.size > before && desk.delivered.lastOption.forall(_.position != ShardPosition.ShardEnd)) {
      before = desk.delivered.size
      pushed.request()
      desk.run()
    }
  }

  private def checkOutcome(desk: Desk, answer: Answer, body: Array[Byte]): Unit = {
    val isOver  = desk.delivered.lastOption.exists(_.position == ShardPosition.ShardEnd)
    val pending = desk.pending.map(_.toMillis)
    Broken.unless(isOver || desk.failed.size == 1 || pending.nonEmpty)("nothing came, and nothing will")
    Broken.unless(desk.failed.size <= 1)(s"it failed ${desk.failed.size} times")
    // A call is over with its body: what comes next is another, not a wait for its answer, which would be the whole silence.
    if (!isOver && desk.failed.isEmpty)
      Broken
        .unless(pending.min < Subscription.LongestSilence.toMillis - 1000)(
          s"it waits ${pending.min} ms for nothing"
        )
    for ((sent, came) <- recordsIn(body).zip(desk.delivered) if answer.status == 200)
      Broken.unless(sent == came.records.length)(s"$sent records were sent, ${came.records.length} came")
  }

  /** Of each event, up to the first that can't be read. */
  private def recordsIn(body: Array[Byte]): Vector[Int] = {
    val decoder = new MessageDecoder
    val _       = Try(decoder.feed(ByteBuffer.wrap(body)))
    for {
      message <- decoder.getDecodedMessages().asScala.toVector
      if header(message, ":message-type").contains("event") &&
        header(message, ":event-type").contains("SubscribeToShardEvent")
    } yield Try(ujson.read(message.getPayload)("Records").arr.size).getOrElse(0)
  }

  private def header(message: Message, name: String) =
    message.getHeaders.asScala.get(name).flatMap(value => Try(value.getString).toOption)

  override def seeds: Seq[Array[Byte]] = {
    val begun = Frames.frame("{}".getBytes, ":message-type" -> "event", ":event-type" -> "initial-response")
    val end   = """{"Records":[],"MillisBehindLatest":0,"ChildShards":[{"ShardId":"shardId-000000000001",""" +
      """"ParentShards":["shardId-000000000000"],"HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"7"}}]}"""
    val first = event(s"""{"Records":[$record],"ContinuationSequenceNumber":"1005","MillisBehindLatest":0}""")
    Seq(
      Array[Byte](0, 0) ++ begun ++ first ++ event(end),
      Array[Byte](0, -50) ++ begun ++ event(
        """{"Records":[],"ContinuationSequenceNumber":"1002","MillisBehindLatest":7}"""
      ),
      Array[Byte](0, 0) ++ begun ++ Frames.frame(
        """{"message":"again"}""".getBytes,
        ":message-type"   -> "exception",
        ":exception-type" -> "InternalFailureException"
      ),
      Array[Byte](9, 0) ++ "{}".getBytes
    )
  }

  private def event(json: String) =
    Frames.frame(json.getBytes, ":message-type" -> "event", ":event-type" -> "SubscribeToShardEvent")

  private val record =
    """{"SequenceNumber":"1001","Data":"aGVsbG8=","PartitionKey":"k","ApproximateArrivalTimestamp":1700000000.5}"""
}
