package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.subscription.{Seat, SubscriptionEvent}
import io.github.kinesisspark.testkit.wire.{Reply, Writer}

/** SubscribeToShard: the call, and how its events are written. */
private[testkit] object SubscribeToShard {
  import Operation.Operation

  val Name = "SubscribeToShard"

  val all: Map[String, Operation] = Map(Name -> subscribe _)

  private def subscribe(request: Request): Outcome = {
    val arn      = request.fields.requiredText("ConsumerARN")
    val shardId  = request.fields.requiredText("ShardId")
    val position = request.fields.required("StartingPosition")(request.fields.structure("StartingPosition"))
    val stream   = liveStream(request)
    val consumer = activeConsumer(request, stream, arn)
    val shard    = stream.shard(shardId).fold(_.raise(), identity)
    val start    = StartingPosition.read(request, stream, shard, StartingPosition.OfSubscription, position)
    request.subscriptions.open(stream, consumer, shard, shard.begin(start, request.now)) match {
      case Right(subscription) => Outcome(Reply.Events(subscription))
      case Left(refusal)       => refused(refusal, consumer, shardId).raise()
    }
  }

  /** One event's members. */
  def members(event: SubscriptionEvent): Reply.Whole = Reply.Records(
    event.slices,
    (out: Writer) => {
      out.optional("ContinuationSequenceNumber", event.continuation)
      out.number("MillisBehindLatest", event.millisBehind)
      event.children.foreach(out.array("ChildShards")(_)(ReadOperations.writeChild))
    }
  )

  private def liveStream(request: Request): Stream = {
    val stream = request.readyStream
    if (stream.status == StreamStatus.Deleting)
      ServiceError.streamNotFound(stream.name, request.config.accountId).raise()
    stream
  }

  private def activeConsumer(request: Request, stream: Stream, arn: String): Consumer = {
    val consumer = stream.consumers
      .findArn(arn, request.now)
      .getOrElse(
        ServiceError.notFound(s"Consumer $arn under account ${request.config.accountId} not found.").raise()
      )
    val status = stream.consumers.status(consumer, request.now)
    if (status != ConsumerStatus.Active)
      ServiceError.inUse(s"Consumer $arn is not ACTIVE, instead in state ${status.name}.").raise()
    consumer
  }

  private def refused(refusal: Seat.Refusal, consumer: Consumer, shardId: String): ServiceError = refusal match {
    case Seat.Refusal.TooOften =>
      ServiceError.limitExceeded(s"Rate exceeded for consumer ${consumer.arn} and shard $shardId.")
    case Seat.Refusal.InUse =>
      ServiceError.inUse(s"Another active subscription exists for consumer ${consumer.arn} and shard $shardId.")
  }
}
