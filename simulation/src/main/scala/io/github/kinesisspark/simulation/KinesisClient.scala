package io.github.kinesisspark.simulation

import java.io.IOException
import java.time.format.DateTimeFormatter
import java.time.{Duration, Instant, ZoneOffset}
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.reactivestreams.{Subscriber => FlowSubscriber, Subscription => Flow}
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration
import software.amazon.awssdk.awscore.exception.{AwsErrorDetails, AwsServiceException}
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.core.async.SdkPublisher
import software.amazon.awssdk.core.exception.{ApiCallTimeoutException, SdkClientException}
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.{KinesisAsyncClient, KinesisServiceClientConfiguration}
import software.amazon.awssdk.services.kinesis.model.{Consumer => SdkConsumer, Record => SdkRecord, _}

import io.github.kinesisspark.simulation.Kinesis.{Answer, Iterator, Record, Refusal, Shard, Start}

/** The SDK's client in one process. A call takes its time to the service and back, may be refused, fail or be lost, and ends by the time limit of its
  * request. What the SDK would do on its threads is done on threads of the process.
  *
  * It leaves out the bytes of answers: records come as the SDK makes them, and memory for an event of a subscription is not taken before it comes.
  */
final class KinesisClient(process: Process, service: Kinesis, network: Network, baton: Baton)
    extends KinesisAsyncClient {
  import KinesisClient._

  private val threads = process.runtime.workers.fixed("sdk", 2)

  override def serviceName: String = "kinesis"
  override def close(): Unit       = ()

  override def serviceClientConfiguration: KinesisServiceClientConfiguration =
    KinesisServiceClientConfiguration.builder
      .region(Region.US_EAST_1)
      .build
      .asInstanceOf[KinesisServiceClientConfiguration]

  override def describeStreamSummary(
      request: DescribeStreamSummaryRequest
  ): CompletableFuture[DescribeStreamSummaryResponse] = call(request) {
    DescribeStreamSummaryResponse.builder
      .streamDescriptionSummary(
        StreamDescriptionSummary.builder
          .streamARN(Kinesis.StreamArnText)
          .streamName(Kinesis.StreamName)
          .streamStatus(StreamStatus.ACTIVE)
          .streamCreationTimestamp(Instant.ofEpochMilli(service.createdMillis))
          .retentionPeriodHours(24)
          .openShardCount(service.open.size)
          .build
      )
      .sdkHttpResponse(dated)
      .build
      .asInstanceOf[DescribeStreamSummaryResponse]
  }

  override def listShards(request: ListShardsRequest): CompletableFuture[ListShardsResponse] =
    call(request) {
      val openAt = request.shardFilter.`type` match {
        case ShardFilterType.AT_TIMESTAMP      => Some(request.shardFilter.timestamp.toEpochMilli)
        case ShardFilterType.AT_TRIM_HORIZON   => Some(service.createdMillis)
        case ShardFilterType.FROM_TRIM_HORIZON => None
        case other                             => throw new IllegalArgumentException(other.toString)
      }
      val shards = service.listShards(openAt).map { listed =>
        val numbers = SequenceNumberRange.builder.startingSequenceNumber("0")
        if (!listed.isOpen) numbers.endingSequenceNumber("1")
        software.amazon.awssdk.services.kinesis.model.Shard.builder
          .shardId(listed.shard.id)
          .parentShardId(listed.shard.parents.headOption.orNull)
          .adjacentParentShardId(listed.shard.parents.lift(1).orNull)
          .hashKeyRange(rangeOf(listed.shard))
          .sequenceNumberRange(numbers.build)
          .build
      }
      ListShardsResponse.builder.shards(shards.asJava).sdkHttpResponse(dated).build.asInstanceOf[ListShardsResponse]
    }

  override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
    call(request) {
      val start = startOf(request.shardIteratorType, request.startingSequenceNumber, request.timestamp)
      GetShardIteratorResponse.builder.shardIterator(service.iterator(request.shardId, start).text).build
    }

  override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
    call(request) {
      val answer = service.getRecords(
        Iterator.of(request.shardIterator),
        Option(request.limit).fold(10000)(_.intValue)
      )
      val response = GetRecordsResponse.builder
        .records(answer.records.map(recordOf).asJava)
        .nextShardIterator(answer.next.map(_.text).orNull)
        .millisBehindLatest(answer.behind)
      if (answer.next.isEmpty) response.childShards(answer.children.map(childOf).asJava)
      response.build
    }

  override def registerStreamConsumer(
      request: RegisterStreamConsumerRequest
  ): CompletableFuture[RegisterStreamConsumerResponse] = call(request) {
    val made = service.register(request.consumerName, request.tags.asScala.toMap)
    RegisterStreamConsumerResponse.builder.consumer(consumerOf(made, service.now)).build
  }

  override def describeStreamConsumer(
      request: DescribeStreamConsumerRequest
  ): CompletableFuture[DescribeStreamConsumerResponse] = call(request) {
    val found =
      Option(request.consumerARN).fold(service.consumerNamed(request.consumerName))(service.consumer)
    DescribeStreamConsumerResponse.builder
      .consumerDescription(
        ConsumerDescription.builder
          .consumerName(found.name)
          .consumerARN(found.arn)
          .consumerStatus(found.status(service.now))
          .consumerCreationTimestamp(Instant.ofEpochMilli(found.createdAt))
          .streamARN(Kinesis.StreamArnText)
          .build
      )
      .build
  }

  override def listStreamConsumers(
      request: ListStreamConsumersRequest
  ): CompletableFuture[ListStreamConsumersResponse] = call(request) {
    ListStreamConsumersResponse.builder.consumers(service.allConsumers.map(consumerOf(_, service.now)).asJava).build
  }

  override def deregisterStreamConsumer(
      request: DeregisterStreamConsumerRequest
  ): CompletableFuture[DeregisterStreamConsumerResponse] = call(request) {
    service.deregister(request.consumerARN)
    DeregisterStreamConsumerResponse.builder.build
  }

  override def listTagsForResource(
      request: ListTagsForResourceRequest
  ): CompletableFuture[ListTagsForResourceResponse] = call(request) {
    val tags = service.consumer(request.resourceARN).tags
    ListTagsForResourceResponse.builder
      .tags(tags.map { case (key, value) => Tag.builder.key(key).value(value).build }.toSeq.asJava)
      .build
  }

  override def tagResource(request: TagResourceRequest): CompletableFuture[TagResourceResponse] =
    call(request) {
      service.consumer(request.resourceARN).tags ++= request.tags.asScala
      TagResourceResponse.builder.build
    }

  override def subscribeToShard(
      request: SubscribeToShardRequest,
      handler: SubscribeToShardResponseHandler
  ): CompletableFuture[Void] = {
    val over = new CompletableFuture[Void]
    val flow = new Events(handler, over)
    toService(isLost = () => flow.ended(Some(Refusal.Broken))) {
      try {
        failIfDue()
        val at    = request.startingPosition
        val start = startOf(
          ShardIteratorType.fromValue(at.typeAsString),
          at.sequenceNumber,
          at.timestamp
        )
        flow.opened(service.subscribe(request.consumerARN, request.shardId, start, flow))
      } catch {
        case refused: Refusal => fromService(over.completeExceptionally(exceptionOf(refused)): Unit)
      }
    }
    over
  }

  /** The events of one subscription. */
  private final class Events(handler: SubscribeToShardResponseHandler, over: CompletableFuture[Void])
      extends Kinesis.Subscriber {
    private var to     = Option.empty[FlowSubscriber[_ >: SubscribeToShardEventStream]]
    private var isOver = false

    def opened(subscription: Kinesis#Subscription): Unit = fromService {
      handler.responseReceived(SubscribeToShardResponse.builder.build)
      handler.onEventStream(new Published(subscription))
    }

    private final class Published(subscription: Kinesis#Subscription)
        extends SdkPublisher[SubscribeToShardEventStream] {
      override def subscribe(subscriber: FlowSubscriber[_ >: SubscribeToShardEventStream]): Unit = {
        to = Some(subscriber)
        subscriber.onSubscribe(new Flow {
          override def request(events: Long): Unit = toService()(subscription.request(events))
          override def cancel(): Unit              = {
            toService()(subscription.cancel())
            // The SDK says that it is complete, some time after it was cancelled.
            if (baton.chance(0.5)) onThread(finish(subscriber.onComplete()))
            isOver = true
          }
        })
      }
    }

    override def event(answer: Answer, continuation: Option[BigInt]): Unit = fromService {
      val event = SubscribeToShardEvent.builder
        .records(answer.records.map(recordOf).asJava)
        .continuationSequenceNumber(continuation.map(_.toString).orNull)
        .millisBehindLatest(answer.behind)
      if (answer.next.isEmpty) event.childShards(answer.children.map(childOf).asJava)
      if (!isOver) to.foreach(_.onNext(event.build))
    }

    override def ended(failure: Option[Refusal]): Unit = fromService {
      if (!isOver) finish {
        failure match {
          case None          => to.foreach(_.onComplete())
          case Some(refused) =>
            val cause = exceptionOf(refused)
            to.foreach(_.onError(cause))
            over.completeExceptionally(cause): Unit
        }
      }
    }

    private def finish(say: => Unit): Unit = {
      isOver = true
      say
      over.complete(null): Unit
    }
  }

  /** @param serve at the service */
  private def call[A](request: KinesisRequest)(serve: => A): CompletableFuture[A] = {
    val answer = new CompletableFuture[A]
    val limit  = request.overrideConfiguration.toScala.flatMap(limitOf).getOrElse(LongestCall)
    val late   = threads.schedule(limit.toNanos)(
      answer.completeExceptionally(ApiCallTimeoutException.create(limit.toMillis)): Unit
    )
    def complete(result: Either[Throwable, A]): Unit = onThread {
      late.cancel()
      result.fold(answer.completeExceptionally(_), answer.complete(_)): Unit
    }
    toService(isLost = () => complete(Left(broken))) {
      val result =
        try {
          failIfDue()
          Right(serve)
        } catch { case refused: Refusal => Left(exceptionOf(refused)) }
      if (baton.chance(service.faults.lost)) fromService(complete(Left(broken)))
      else fromService(complete(result))
    }
    answer
  }

  private def failIfDue(): Unit = {
    if (baton.chance(service.faults.throttled)) throw Refusal.Throttled("Rate exceeded")
    if (baton.chance(service.faults.failed)) throw Refusal.Failure
  }

  private def toService(isLost: () => Unit = () => ())(work: => Unit): Unit =
    if (baton.chance(service.faults.lost)) network.send(process.name, Service)(onThread(isLost()))
    else network.send(process.name, Service, isLost)(baton.after(delay)(work))

  private def fromService(work: => Unit): Unit = network.send(Service, process.name)(onThread(work))

  private def delay =
    if (baton.chance(service.faults.slow)) baton.between(1.second.toNanos, 40.seconds.toNanos)
    else baton.between(2.millis.toNanos, 30.millis.toNanos)

  private def onThread(work: => Unit): Unit = if (process.isAlive) threads.execute(() => work)

  private def dated = SdkHttpResponse.builder
    .statusCode(200)
    .putHeader("Date", HttpDate.format(Instant.ofEpochMilli(service.now)))
    .build
}

object KinesisClient {

  /** The other end of the network. */
  val Service = "kinesis"

  /** Where a request has no limit: the HTTP client's own. */
  private val LongestCall = Duration.ofSeconds(60)

  private val HttpDate = DateTimeFormatter.RFC_1123_DATE_TIME.withZone(ZoneOffset.UTC)

  private def limitOf(o: AwsRequestOverrideConfiguration): Option[Duration] =
    (o.apiCallTimeout.toScala ++ o.apiCallAttemptTimeout.toScala).minOption

  private def broken = SdkClientException.create(
    "Unable to execute HTTP request: Connection reset",
    new IOException("Connection reset")
  )

  private def startOf(kind: ShardIteratorType, number: String, time: Instant): Start = kind match {
    case ShardIteratorType.TRIM_HORIZON          => Start.TrimHorizon
    case ShardIteratorType.LATEST                => Start.Latest
    case ShardIteratorType.AT_TIMESTAMP          => Start.AtTime(time.toEpochMilli)
    case ShardIteratorType.AT_SEQUENCE_NUMBER    => Start.Number(BigInt(number), isAfter = false)
    case ShardIteratorType.AFTER_SEQUENCE_NUMBER => Start.Number(BigInt(number), isAfter = true)
    case other                                   => throw new IllegalArgumentException(other.toString)
  }

  private def recordOf(record: Record): SdkRecord = SdkRecord.builder
    .sequenceNumber(record.number.toString)
    .partitionKey("key")
    .data(SdkBytes.fromUtf8String(record.data))
    .approximateArrivalTimestamp(Instant.ofEpochMilli(record.arrived))
    .build

  private def rangeOf(shard: Shard): HashKeyRange =
    HashKeyRange.builder
      .startingHashKey(shard.keys.start.toString)
      .endingHashKey(shard.keys.end.toString)
      .build

  private def childOf(shard: Shard): ChildShard =
    ChildShard.builder.shardId(shard.id).parentShards(shard.parents.asJava).hashKeyRange(rangeOf(shard)).build

  private def consumerOf(consumer: Kinesis.Consumer, now: Long): SdkConsumer = SdkConsumer.builder
    .consumerName(consumer.name)
    .consumerARN(consumer.arn)
    .consumerStatus(consumer.status(now))
    .consumerCreationTimestamp(Instant.ofEpochMilli(consumer.createdAt))
    .build

  private def exceptionOf(refused: Refusal): Throwable = refused match {
    case Refusal.Broken             => broken
    case Refusal.Throttled(_)       => of(ProvisionedThroughputExceededException.builder, refused, 400)
    case Refusal.LimitExceeded(_)   => of(LimitExceededException.builder, refused, 400)
    case Refusal.NotFound(_)        => of(ResourceNotFoundException.builder, refused, 400)
    case Refusal.InvalidArgument(_) => of(InvalidArgumentException.builder, refused, 400)
    case Refusal.InUse(_)           => of(ResourceInUseException.builder, refused, 400)
    case Refusal.ExpiredIterator    => of(ExpiredIteratorException.builder, refused, 400)
    case Refusal.Failure            => of(InternalFailureException.builder, refused, 500)
  }

  private def of(exception: AwsServiceException.Builder, refused: Refusal, status: Int): Throwable = {
    val details = AwsErrorDetails.builder.errorMessage(refused.getMessage).serviceName("Kinesis").build
    exception.awsErrorDetails(details).message(refused.getMessage).statusCode(status).build
  }
}
