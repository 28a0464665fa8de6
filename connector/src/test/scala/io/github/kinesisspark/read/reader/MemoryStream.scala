package io.github.kinesisspark.read.reader

import java.util.concurrent.CompletableFuture

import scala.collection.mutable
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.reactivestreams.{Subscriber, Subscription => Flow}
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.core.async.SdkPublisher
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.Generators.number
import io.github.kinesisspark.aws.OfflineClient
import io.github.kinesisspark.runtime.Runtime

/** A stream in memory that answers at once, on the caller's thread. Of the subscriptions of its only consumer to a shard the newest one lives; a second one
  * within 5 s is refused, as the service does.
  *
  * @param begin records of each shard, by its id
  */
final class MemoryStream(begin: Map[String, Vector[String]])(implicit runtime: Runtime) {
  import MemoryStream._

  // All below is guarded by `this`.
  private val records = mutable.HashMap.from(begin)
  private val seats   = mutable.HashMap.empty[String, Seat]
  private var polls   = Vector.empty[(String, String)]
  private var taken   = Vector.empty[(String, String)]

  private val beats = runtime.workers.fixed("memory-stream", 1)
  beats.every(5.seconds)(synchronized(seats.values.toVector).foreach(_.flow.send(isBeat = true)))

  def put(shard: String, text: String): Unit = {
    synchronized(records(shard) = records(shard) :+ text)
    synchronized(seats.get(shard)).foreach(_.flow.send(isBeat = false))
  }

  def texts: Vector[String] = synchronized(records.values.flatten.toVector)

  /** Who has subscribed to which shard, each time. */
  def subscribed: Vector[(String, String)] = synchronized(taken)

  /** The calls of GetRecords, by whom and of which shard. */
  def polled: Vector[(String, String)] = synchronized(polls)

  def close(): Unit = beats.close()

  /** @param by whose client it is */
  def client(by: String): KinesisAsyncClient = new OfflineClient {
    override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] = {
      val from = place(request.shardId, request.shardIteratorType, request.startingSequenceNumber)
      CompletableFuture.completedFuture(
        GetShardIteratorResponse.builder.shardIterator(s"${request.shardId}@$from").build
      )
    }

    override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
      val Array(shard, from) = request.shardIterator.split('@'): @unchecked
      MemoryStream.this.synchronized(polls :+= by -> shard)
      val some               = after(shard, from.toInt, request.limit)
      val next               = from.toInt + some.size
      CompletableFuture.completedFuture(
        GetRecordsResponse.builder
          .records(some.asJava)
          .nextShardIterator(s"$shard@$next")
          .millisBehindLatest(behind(shard, next))
          .build
      )
    }

    override def subscribeToShard(
        request: SubscribeToShardRequest,
        handler: SubscribeToShardResponseHandler
    ): CompletableFuture[Void] = {
      val answer = new CompletableFuture[Void]
      take(by, request) match {
        case Some(flow) => handler.onEventStream(flow)
        case None       =>
          answer.completeExceptionally(ResourceInUseException.builder.message("a subscription is active").build)
      }
      answer
    }
  }

  private def take(by: String, request: SubscribeToShardRequest): Option[EventFlow] = {
    val shard          = request.shardId
    val start          = request.startingPosition
    val now            = runtime.clock.nanos()
    val (flow, before) = synchronized {
      val before = seats.get(shard)
      if (before.exists(now - _.since < TakeoverAfter.toNanos)) (None, None)
      else {
        val flow = new EventFlow(shard, place(shard, start.`type`, start.sequenceNumber))
        seats(shard) = new Seat(flow, now)
        taken :+= by -> shard
        (Some(flow), before)
      }
    }
    before.foreach(_.flow.displace())
    flow
  }

  private def place(shard: String, kind: ShardIteratorType, from: String): Int = {
    def index = BigInt(from.takeRight(Digits)).toInt
    kind match {
      case ShardIteratorType.TRIM_HORIZON          => 0
      case ShardIteratorType.AT_SEQUENCE_NUMBER    => index - 1
      case ShardIteratorType.AFTER_SEQUENCE_NUMBER => index
      case other                                   => throw new IllegalArgumentException(s"$shard: $other")
    }
  }

  private def after(shard: String, from: Int, limit: Int): Vector[Record] =
    synchronized(records(shard)).zipWithIndex.slice(from, from + limit).map { case (text, i) =>
      Record.builder
        .sequenceNumber(number(i + 1L).toString)
        .partitionKey("key")
        .data(SdkBytes.fromUtf8String(text))
        .approximateArrivalTimestamp(java.time.Instant.ofEpochMilli(1000))
        .build
    }

  private def behind(shard: String, next: Int) = if (next == synchronized(records(shard)).size) 0L else 1000L

  /** A subscription's events: one for each that is asked for, once there are records, or at a beat. */
  private final class EventFlow(shard: String, from: Int) extends SdkPublisher[SubscribeToShardEventStream] {
    private var at     = from
    private var asked  = 0L
    private var isOver = false
    private var to     = Option.empty[Subscriber[_ >: SubscribeToShardEventStream]]

    override def subscribe(subscriber: Subscriber[_ >: SubscribeToShardEventStream]): Unit = {
      synchronized { to = Some(subscriber) }
      subscriber.onSubscribe(new Flow {
        override def request(n: Long): Unit = {
          EventFlow.this.synchronized(asked += n)
          send(isBeat = false)
        }
        override def cancel(): Unit = EventFlow.this.synchronized { isOver = true }
      })
    }

    def send(isBeat: Boolean): Unit = {
      val next = synchronized {
        val some = if (asked > 0 && !isOver) after(shard, at, 100) else Vector.empty
        Option.when(asked > 0 && !isOver && (isBeat || some.nonEmpty)) {
          asked -= 1
          at += some.size
          SubscribeToShardEventStream
            .subscribeToShardEventBuilder()
            .records(some.asJava)
            .continuationSequenceNumber(number(at.toLong).toString)
            .millisBehindLatest(behind(shard, at))
            .build(): SubscribeToShardEventStream
        }
      }
      for (event <- next; subscriber <- synchronized(to)) subscriber.onNext(event)
    }

    def displace(): Unit = {
      val last = synchronized {
        val live = if (isOver) None else to
        isOver = true
        live
      }
      last.foreach(_.onError(ResourceInUseException.builder.message("another subscription has taken over").build))
    }
  }

  private final class Seat(val flow: EventFlow, val since: Long)
}

object MemoryStream {

  /** @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html SubscribeToShard]] */
  private val TakeoverAfter = 5.seconds

  /** Of a sequence number: they say which record of the shard it is. */
  private val Digits = 20
}
