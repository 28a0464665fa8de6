package io.github.kinesisspark.simulation

import java.io.IOException
import java.nio.ByteBuffer
import java.time.format.DateTimeFormatter
import java.time.{Duration, Instant, ZoneOffset}
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.reactivestreams.{Subscriber => FlowSubscriber, Subscription => Flow}
import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, AwsCredentials}
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration
import software.amazon.awssdk.awscore.exception.{AwsErrorDetails, AwsServiceException}
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.core.async.SdkPublisher
import software.amazon.awssdk.core.exception.{ApiCallTimeoutException, SdkClientException}
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.{KinesisAsyncClient, KinesisServiceClientConfiguration}
import software.amazon.awssdk.services.kinesis.model.{Consumer => SdkConsumer, Record => SdkRecord, _}

import io.github.kinesisspark.aws.{ClientKind, CredentialsInside, KinesisClients, ResponseFilter, RetryPolicy}
import io.github.kinesisspark.config.ConnectionOptions
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.simulation.Kinesis.{Answer, Iterator, Record, Refusal, Shard, Start}

/** The SDK's client in one process. A call takes its time to the service and back, may be refused, fail or be lost, and ends by the time limit of its
  * request. What the SDK would do on its threads is done on threads of the process.
  *
  * It leaves out the bytes of answers: records come as the SDK makes them, once the request's filter asks for the first byte, and memory for an event of a subscription is not taken before it comes.
  * Before a call has succeeded, credentials fail five times at most: after more, the engine ends the query, as a mistake of its options.
  *
  * @param success of its first call, as the SDK's client reports it
  */
final class KinesisClient(process: Process, world: World, success: KinesisClients.Success) extends KinesisAsyncClient {
  import KinesisClient._
  import world.{baton, network}

  private val threads = process.runtime.workers.fixed("sdk", 2)
  private val faults  = world.serviceFaults

  private def stream(name: String, arn: String): Kinesis =
    world.stream(Option(name).getOrElse(Kinesis.nameIn(arn)))

  private val credentials = Option.when(world.settings.credentials)(
    new CredentialsInside(() => resolve(), process.runtime.workers.growing("credentials"))(process.runtime)
  )

  override def serviceName: String = "kinesis"

  private var isClosed           = false
  private var failuresAtTheStart = 0

  override def close(): Unit = {
    isClosed = true
    credentials.foreach(_.close())
    threads.close()
  }

  private def resolve(): AwsCredentials = {
    process.runtime.waits.sleep(baton.between(1, 50).millis)
    val slow = baton.now + (if (baton.chance(faults.slowCredentials)) baton.between(1, 400).seconds.toNanos else 0)
    while (baton.now < slow && faults.slowCredentials > 0) process.runtime.waits.sleep(1.second)
    val mayFail = success.isThere || failuresAtTheStart < RetryPolicy.SuspectRetries
    if (mayFail && baton.chance(faults.failedCredentials)) {
      if (!success.isThere) failuresAtTheStart += 1
      throw SdkClientException.create("Unable to load credentials")
    }
    AwsBasicCredentials.create("AKIAEXAMPLE", "secret")
  }

  /** Once there are credentials for it. */
  private def signed[A](call: => CompletableFuture[A]): CompletableFuture[A] =
    credentials.fold(call)(_.before(() => call))

  override def serviceClientConfiguration: KinesisServiceClientConfiguration =
    KinesisServiceClientConfiguration.builder
      .region(Region.US_EAST_1)
      .build
      .asInstanceOf[KinesisServiceClientConfiguration]

  override def describeStreamSummary(
      request: DescribeStreamSummaryRequest
  ): CompletableFuture[DescribeStreamSummaryResponse] = call(request) {
    val service = stream(request.streamName, request.streamARN)
    service.takeCall("DescribeStreamSummary")
    DescribeStreamSummaryResponse.builder
      .streamDescriptionSummary(
        StreamDescriptionSummary.builder
          .streamARN(service.arn)
          .streamName(service.name)
          .streamStatus(service.status)
          .streamCreationTimestamp(Instant.ofEpochMilli(service.createdMillis))
          .retentionPeriodHours(Kinesis.RetentionHours)
          .openShardCount(service.open.size)
          .build
      )
      .sdkHttpResponse(dated(service))
      .build
      .asInstanceOf[DescribeStreamSummaryResponse]
  }

  override def listShards(request: ListShardsRequest): CompletableFuture[ListShardsResponse] =
    call(request) {
      val token = Option(request.nextToken)
      if (token.nonEmpty && (request.streamName != null || request.streamARN != null || request.shardFilter != null))
        throw Refusal.InvalidArgument("NextToken and stream or filter are given")
      val service = token.fold(stream(request.streamName, request.streamARN))(t => world.stream(Kinesis.nameOf(t)))
      service.takeCall("ListShards")
      def first = service.listShards(request.shardFilter.`type` match {
        case ShardFilterType.AT_TIMESTAMP      => Some(request.shardFilter.timestamp.toEpochMilli)
        case ShardFilterType.AT_TRIM_HORIZON   => Some(service.createdMillis)
        case ShardFilterType.FROM_TRIM_HORIZON => None
        case other                             => throw new IllegalArgumentException(other.toString)
      })
      val page   = token.fold(first)(service.moreShards)
      val shards = page.items.map { listed =>
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
      ListShardsResponse.builder
        .shards(shards.asJava)
        .nextToken(page.token.orNull)
        .sdkHttpResponse(dated(service))
        .build
        .asInstanceOf[ListShardsResponse]
    }

  override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] = {
    val service = stream(request.streamName, request.streamARN)
    call(request, Some(keyOf(service, request.shardId))) {
      val start = startOf(request.shardIteratorType, request.startingSequenceNumber, request.timestamp)
      GetShardIteratorResponse.builder.shardIterator(service.iterator(request.shardId, start).text).build
    }
  }

  override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
    val from    = Iterator.of(request.shardIterator)
    val service = world.stream(from.stream)
    call(request, Some(keyOf(service, from.shard))) {
      val answer   = service.getRecords(from, Option(request.limit).fold(10000)(_.intValue))
      val response = GetRecordsResponse.builder
        .records(answer.records.map(recordOf).asJava)
        .nextShardIterator(answer.next.map(_.text).orNull)
        .millisBehindLatest(answer.behind)
      if (answer.next.isEmpty) response.childShards(answer.children.map(childOf).asJava)
      response.build
    }
  }

  override def registerStreamConsumer(
      request: RegisterStreamConsumerRequest
  ): CompletableFuture[RegisterStreamConsumerResponse] = call(request) {
    val service = stream(null, request.streamARN)
    service.takeCall("RegisterStreamConsumer")
    val made = service.registerByCall(request.consumerName, request.tags.asScala.toMap)
    RegisterStreamConsumerResponse.builder.consumer(consumerOf(made, service.now)).build
  }

  override def describeStreamConsumer(
      request: DescribeStreamConsumerRequest
  ): CompletableFuture[DescribeStreamConsumerResponse] = call(request) {
    val service = stream(null, Option(request.consumerARN).getOrElse(request.streamARN))
    service.takeCall("DescribeStreamConsumer")
    val found = service.described(
      Option(request.consumerARN).fold(service.consumerNamed(request.consumerName))(service.consumer)
    )
    DescribeStreamConsumerResponse.builder
      .consumerDescription(
        ConsumerDescription.builder
          .consumerName(found.name)
          .consumerARN(found.arn)
          .consumerStatus(found.status(service.now))
          .consumerCreationTimestamp(Instant.ofEpochMilli(found.createdAt))
          .streamARN(service.arn)
          .build
      )
      .build
  }

  override def listStreamConsumers(
      request: ListStreamConsumersRequest
  ): CompletableFuture[ListStreamConsumersResponse] = call(request) {
    val service = stream(null, request.streamARN)
    service.takeCall("ListStreamConsumers")
    val page = Option(request.nextToken).fold(service.listConsumers())(service.moreConsumers)
    ListStreamConsumersResponse.builder
      .consumers(page.items.map(consumerOf(_, service.now)).asJava)
      .nextToken(page.token.orNull)
      .build
  }

  override def deregisterStreamConsumer(
      request: DeregisterStreamConsumerRequest
  ): CompletableFuture[DeregisterStreamConsumerResponse] = call(request) {
    stream(null, request.consumerARN).deregister(request.consumerARN)
    DeregisterStreamConsumerResponse.builder.build
  }

  override def listTagsForResource(
      request: ListTagsForResourceRequest
  ): CompletableFuture[ListTagsForResourceResponse] = call(request) {
    val tags = stream(null, request.resourceARN).consumer(request.resourceARN).tags
    ListTagsForResourceResponse.builder
      .tags(tags.map { case (key, value) => Tag.builder.key(key).value(value).build }.toSeq.asJava)
      .build
  }

  override def tagResource(request: TagResourceRequest): CompletableFuture[TagResourceResponse] =
    call(request) {
      stream(null, request.resourceARN).consumer(request.resourceARN).tags ++= request.tags.asScala
      TagResourceResponse.builder.build
    }

  /** The records of one call are stored in any order. */
  override def putRecords(request: PutRecordsRequest): CompletableFuture[PutRecordsResponse] = call(request) {
    val entries = request.records.asScala.toVector
    val order   = entries.indices.map(baton.random.nextInt() -> _).sorted.map(_._2)
    val results = order.map(place => place -> put(entries(place))).sortBy(_._1).map(_._2)
    PutRecordsResponse.builder
      .records(results.asJava)
      .failedRecordCount(results.count(_.errorCode != null))
      .build
  }

  private def put(entry: PutRecordsRequestEntry) = {
    val result = PutRecordsResultEntry.builder
    val stored =
      if (baton.chance(faults.throttled)) None
      else
        world.target.put(
          Target.hashKeyOf(entry.partitionKey, Option(entry.explicitHashKey)),
          entry.data.asByteArray
        )
    stored match {
      case Some((shard, number)) => result.shardId(shard).sequenceNumber(number.toString)
      case None                  =>
        result.errorCode("ProvisionedThroughputExceededException").errorMessage("Rate exceeded for shard")
    }
    result.build
  }

  override def subscribeToShard(
      request: SubscribeToShardRequest,
      handler: SubscribeToShardResponseHandler
  ): CompletableFuture[Void] = signed {
    val over    = new CompletableFuture[Void]
    val service = stream(null, request.consumerARN)
    val shard   = keyOf(service, request.shardId)
    val flow    = new Events(shard, handler, over)
    toService(isLost = () => flow.ended(Some(Refusal.Broken))) {
      try {
        failIfDue()
        val at    = request.startingPosition
        val start = startOf(
          ShardIteratorType.fromValue(at.typeAsString),
          at.sequenceNumber,
          at.timestamp
        )
        flow.opened(service.subscribe(process.name, request.consumerARN, request.shardId, start, flow))
      } catch {
        case refused: Refusal =>
          fromService {
            subscribed(shard, s"SubscribeToShard ${refused.kind}")
            over.completeExceptionally(exceptionOf(refused)): Unit
          }
      }
    }
    over
  }

  /** The events of one subscription. */
  private final class Events(shard: ShardKey, handler: SubscribeToShardResponseHandler, over: CompletableFuture[Void])
      extends Kinesis.Subscriber {
    private var to     = Option.empty[FlowSubscriber[_ >: SubscribeToShardEventStream]]
    private var isOver = false

    // Where the connection is gone, or the client that it belongs to, the service notices.
    def opened(subscription: Kinesis#Subscription): Unit = {
      var isOpen = false
      fromService(isLost = () => subscription.cancel()) {
        isOpen = true
        subscribed(shard, "subscription opens")
        handler.responseReceived(SubscribeToShardResponse.builder.build)
        handler.onEventStream(new Published(subscription))
      }
      baton.after(KinesisClient.ConnectionLost.toNanos)(if (!isOpen) subscription.cancel())
    }

    private final class Published(subscription: Kinesis#Subscription)
        extends SdkPublisher[SubscribeToShardEventStream] {
      override def subscribe(subscriber: FlowSubscriber[_ >: SubscribeToShardEventStream]): Unit = {
        to = Some(subscriber)
        subscriber.onSubscribe(new Flow {
          override def request(events: Long): Unit = toService()(subscription.request(events))
          override def cancel(): Unit              = {
            // Where the connection is gone, the service notices.
            network.sendSafely(process.name, Service)(subscription.cancel())
            // The SDK says that it is complete, some time after it was cancelled.
            if (baton.chance(0.5)) onThread(finish(subscriber.onComplete()))
            isOver = true
          }
        })
      }
    }

    override def event(answer: Answer, continuation: Option[BigInt]): Unit = fromService {
      subscribed(shard, s"event ${kindOf(answer)}")
      val event = SubscribeToShardEvent.builder
        .records(answer.records.map(recordOf).asJava)
        .continuationSequenceNumber(continuation.map(_.toString).orNull)
        .millisBehindLatest(answer.behind)
      if (answer.next.isEmpty) event.childShards(answer.children.map(childOf).asJava)
      if (!isOver) to.foreach(_.onNext(event.build))
    }

    override def ended(failure: Option[Refusal]): Unit = fromService {
      subscribed(shard, s"subscription ends ${failure.fold("whole")(_.kind)}")
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

  private def subscribed(shard: ShardKey, what: String): Unit =
    world.happened(process, Some(shard), what, isFanOut = Some(true))

  private def called(shard: Option[ShardKey], what: String): Unit =
    world.happened(process, shard, what, isFanOut = Some(false))

  private def keyOf(service: Kinesis, shard: String) = ShardKey(world.arnOf(service.name), shard)

  private def kindOf(answer: Answer) =
    if (answer.next.isEmpty) "end" else if (answer.records.isEmpty) "empty" else "records"

  /** @param shard that is read, if any
    * @param serve at the service
    */
  private def call[A](request: KinesisRequest, shard: Option[ShardKey] = None)(serve: => A): CompletableFuture[A] =
    signed(send(request, shard)(serve))

  private def send[A](request: KinesisRequest, shard: Option[ShardKey])(serve: => A): CompletableFuture[A] = {
    val answer = new CompletableFuture[A]
    val limit  = request.overrideConfiguration.toScala.flatMap(limitOf).map(_.toNanos.nanos)
    val drips  = limit.nonEmpty && faults.slow > 0 && baton.chance(faults.slow / 2)
    // While bytes come, only the time limit of the call ends it.
    val silent = if (drips) 1.hour else silenceOf(request)
    val late   = threads.schedule(limit.fold(silent)(_.min(silent)).toNanos) {
      called(shard, s"${nameOf(request)} late")
      answer.completeExceptionally(
        limit.filter(_ <= silent).fold(broken)(time => ApiCallTimeoutException.create(time.toMillis))
      ): Unit
    }
    def complete(result: Either[Throwable, A]): Unit = onThread {
      late.cancel()
      if (!answer.isDone) {
        called(shard, s"${nameOf(request)} ${outcomeOf(result)}")
        if (result.isRight) success.happened()
      }
      result.fold(answer.completeExceptionally(_), answer.complete(_)): Unit
    }
    toService(isLost = () => complete(Left(broken))) {
      val result =
        try {
          failIfDue()
          Right(serve)
        } catch { case refused: Refusal => Left(exceptionOf(refused)) }
      if (baton.chance(faults.lost)) fromService(complete(Left(broken)))
      else if (!drips) fromService(onceWanted(request, result) {
        if (!answer.isDone) came(shard, result)
        complete(result)
      })
    }
    answer
  }

  /** Records come when the filter of their request lets them through. */
  private def onceWanted(request: KinesisRequest, result: Either[Throwable, Any])(complete: => Unit): Unit =
    (ResponseFilter.of(request), result) match {
      case (Some(filter), Right(answer: GetRecordsResponse)) =>
        filter.through(headOf(answer), to => to.onSubscribe(new Body(to))).subscribe(new Wanting(complete))
      case _ => complete
    }

  private def came(shard: Option[ShardKey], result: Either[Throwable, Any]): Unit = (shard, result) match {
    case (Some(key), Right(answer: GetRecordsResponse)) => world.came(process, key, bytesOf(answer))
    case _                                              => ()
  }

  private def failIfDue(): Unit = {
    if (baton.chance(faults.throttled)) throw Refusal.Throttled("Rate exceeded")
    if (baton.chance(faults.failed)) throw Refusal.Failure
  }

  private def toService(isLost: () => Unit = () => ())(work: => Unit): Unit =
    if (baton.chance(faults.lost)) network.send(process.name, Service)(onThread(isLost()))
    else network.send(process.name, Service, isLost)(baton.after(delay)(work))

  private def fromService(isLost: () => Unit)(work: => Unit): Unit =
    network.send(Service, process.name, isLost)(onThread(work))

  private def fromService(work: => Unit): Unit = fromService(isLost = () => ())(work)

  private def delay =
    if (baton.chance(faults.slow)) baton.between(1.second.toNanos, 40.seconds.toNanos)
    else baton.between(2.millis.toNanos, 30.millis.toNanos)

  private def onThread(work: => Unit): Unit = if (process.isAlive && !isClosed) threads.execute(() => work)

  private def dated(service: Kinesis) = SdkHttpResponse.builder
    .statusCode(200)
    .putHeader("Date", HttpDate.format(Instant.ofEpochMilli(service.now)))
    .build
}

object KinesisClient {

  /** After that much time without an acknowledgement TCP takes a connection for lost. */
  private val ConnectionLost = 60.seconds

  /** Of an answer whose bytes nobody sees. */
  private final class Body(to: FlowSubscriber[_ >: ByteBuffer]) extends Flow {
    override def request(chunks: Long): Unit = to.onComplete()
    override def cancel(): Unit              = ()
  }

  /** Takes all of a body at once. */
  private final class Wanting(whole: => Unit) extends FlowSubscriber[ByteBuffer] {
    override def onSubscribe(flow: Flow): Unit     = flow.request(Long.MaxValue)
    override def onNext(bytes: ByteBuffer): Unit   = ()
    override def onError(failure: Throwable): Unit = ()
    override def onComplete(): Unit                = whole
  }

  private def headOf(answer: GetRecordsResponse) = SdkHttpResponse.builder
    .statusCode(200)
    .putHeader("Content-Length", bytesOf(answer).toString)
    .build

  private def bytesOf(answer: GetRecordsResponse) =
    answer.records.asScala.iterator.map(_.data.asByteArrayUnsafe.length.toLong).sum

  /** The other end of the network. */
  val Service = "kinesis"

  /** The HTTP client ends a call of which no byte comes for so long. */
  private def silenceOf(request: KinesisRequest) = request match {
    case _: PutRecordsRequest => ClientKind.Writes.Silence
    case _                    => ConnectionOptions.Silence
  }

  private val HttpDate = DateTimeFormatter.RFC_1123_DATE_TIME.withZone(ZoneOffset.UTC)

  private def nameOf(request: KinesisRequest) = request.getClass.getSimpleName.stripSuffix("Request")

  private def outcomeOf(result: Either[Throwable, Any]) = result match {
    case Left(failure)                      => failure.getClass.getSimpleName
    case Right(records: GetRecordsResponse) =>
      if (records.nextShardIterator == null) "end"
      else if (records.hasRecords && !records.records.isEmpty) "records"
      else "empty"
    case Right(_) => "done"
  }

  private def limitOf(o: AwsRequestOverrideConfiguration): Option[Duration] =
    (o.apiCallTimeout.toScala ++ o.apiCallAttemptTimeout.toScala).minOption

  private def broken: Throwable = SdkClientException.create(
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
    .data(SdkBytes.fromByteArrayUnsafe(record.data))
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
    case Refusal.ExpiredToken       => of(ExpiredNextTokenException.builder, refused, 400)
    case Refusal.ExpiredIterator    => of(ExpiredIteratorException.builder, refused, 400)
    case Refusal.Failure            => of(InternalFailureException.builder, refused, 500)
  }

  private def of(exception: AwsServiceException.Builder, refused: Refusal, status: Int): Throwable = {
    val details = AwsErrorDetails.builder.errorMessage(refused.getMessage).serviceName("Kinesis").build
    exception.awsErrorDetails(details).message(refused.getMessage).statusCode(status).build
  }
}
