package io.github.kinesisspark.aws

import io.github.kinesisspark.config.{CallRetries, FanOutOptions}
import io.github.kinesisspark.position.{ConsumerArn, StreamArn}
import io.github.kinesisspark.runtime.Runtime
import org.slf4j.LoggerFactory
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model.{
  DeregisterStreamConsumerRequest,
  DescribeStreamConsumerRequest,
  ListStreamConsumersRequest,
  ListTagsForResourceRequest,
  RegisterStreamConsumerRequest,
  TagResourceRequest
}

import java.util.concurrent.CompletableFuture

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.Try

/** Finds, registers, lists and deregisters the consumers of streams, on the driver. Each call blocks and is retried as the options
  * say, with full jitter; an interrupt ends the wait for it at once. [[Registration]] decides each next step.
  *
  * All throw [[KinesisException]] of the fault's class, once retrying has ended, and InterruptedException.
  *
  * @param tags       of consumers that are registered from here, beside the owner's
  * @param registered is called for each consumer that is registered from here, on the SDK's thread
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_RegisterStreamConsumer.html RegisterStreamConsumer]] (5 calls/s per account),
  *      [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DescribeStreamConsumer.html DescribeStreamConsumer]] (20/s per stream),
  *      [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListStreamConsumers.html ListStreamConsumers]] and
  *      [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DeregisterStreamConsumer.html DeregisterStreamConsumer]] (5/s per stream),
  *      [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListTagsForResource.html ListTagsForResource]],
  *      [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_TagResource.html TagResource]]
  */
private[kinesisspark] final class ConsumerDirectory(
    client: KinesisAsyncClient,
    retries: CallRetries,
    hasWorked: () => Boolean,
    observer: CallObserver,
    tags: Map[String, String],
    registered: ConsumerArn => Unit
)(implicit runtime: Runtime) {
  import ConsumerDirectory._
  import Registration.{Command, Event, Goal}

  private val log   = LoggerFactory.getLogger(classOf[ConsumerDirectory])
  private val calls = BlockingCalls(retries, hasWorked, observer)

  /** Calls that a query waits for when it starts or stops: they are retried for [[QuestionTime]] at most. */
  private val briefly = calls.within(retries.maxDuration.min(QuestionTime))

  /** The last registration. The service may carry it out although an interrupt has ended the wait for its answer. */
  private var lastRegistration = CompletableFuture.completedFuture(Option.empty[StreamConsumer])

  /** By the last registration that the service has confirmed. */
  @volatile private var made = Option.empty[StreamConsumer]

  /** The consumer of that name, whatever its status. */
  def find(stream: StreamArn, name: String): Option[StreamConsumer] =
    findByName(stream, name, calls)

  /** The consumer of that name for a query that stops: the one that it registered last, also where the answer is still on its way; otherwise the
    * one that is found, unless it is DELETING. One that was registered a moment ago may not be found yet, and then a further registration is refused.
    * Either takes [[QuestionTime]] at most.
    */
  def findAtStop(stream: StreamArn, name: String): Option[StreamConsumer] =
    Try(runtime.waits.get(lastRegistration, QuestionTime)).toOption.flatten.orElse {
      val found = findByName(stream, name, briefly)
      found.fold(made)(one => Some(one).filter(_.status != ConsumerStatus.Deleting))
    }

  /** This registration of a consumer, whatever its status; none where it is gone, even if there is another of its name. */
  def find(arn: ConsumerArn): Option[StreamConsumer] =
    describe(resource(s"consumer $arn"), calls, b => { b.consumerARN(arn.text); () })

  /** For whom the consumer was registered, as its tag says. Retried for [[QuestionTime]]. */
  def owner(arn: ConsumerArn): Option[ConsumerOwner] = {
    val request = ListTagsForResourceRequest.builder().resourceARN(arn.text).overrideConfiguration(calls.inTime).build()
    unlessNotFound(
      briefly.call(AwsCall.ListTagsForResource, resource(s"consumer $arn"))(
        client.listTagsForResource(request)
      )
    ).flatMap(_.tags.asScala.find(_.key == FanOutOptions.OwnerTag)).map(tag => ConsumerOwner.of(tag.value))
  }

  /** Replaces the tag that says for whom the consumer was registered. Retried for [[QuestionTime]]. */
  def setOwner(arn: ConsumerArn, owner: ConsumerOwner): Unit = {
    val request =
      TagResourceRequest.builder().resourceARN(arn.text).tags(tagOf(owner).asJava).overrideConfiguration(calls.inTime)
    briefly.call(AwsCall.TagResource, resource(s"consumer $arn"))(
      client.tagResource(request.build())
    ): Unit
  }

  def list(stream: StreamArn): Vector[StreamConsumer] = {
    def page(token: Option[String]): (Vector[StreamConsumer], Option[String]) = {
      val request = ListStreamConsumersRequest
        .builder()
        .streamARN(stream.text)
        .maxResults(PageSize)
        .overrideConfiguration(calls.inTime)
      token.foreach(request.nextToken(_))
      calls.call(AwsCall.ListStreamConsumers, resource(s"stream $stream"))(
        DamagedAnswer.unlessRead(client.listStreamConsumers(request.build())) { answer =>
          (
            answer.consumers.asScala.iterator.map(StreamConsumer.of(_)).toVector,
            Option(answer.nextToken).filter(_.nonEmpty)
          )
        }
      )
    }
    def pages =
      Paging.all(AwsCall.ListStreamConsumers, resource(s"stream $stream"), MostConsumers)(page)(_._2, _._1.size)
    calls.restarting(AwsCall.ListStreamConsumers)(pages).flatMap(_._1)
  }

  /** The consumer of that name, registered if it doesn't exist; it may still be CREATING.
    *
    * @param owner its tag, where it is registered from here and tagging is allowed
    * @throws KinesisException `KINESIS_CONSUMER_QUOTA` where the stream has as many consumers as it may have,
    *                          `KINESIS_CONSUMER_NOT_READY` where one of that name stays DELETING
    */
  def register(stream: StreamArn, name: String, owner: Option[ConsumerOwner] = None): StreamConsumer =
    pursue(Goal.Known, consumerOf(stream, name), stream, name, owner)(find(stream, name))

  /** The consumer of that name once it is ACTIVE, registered if it doesn't exist.
    *
    * @param owner as for [[register]]
    * @throws KinesisException as [[register]], and `KINESIS_CONSUMER_NOT_READY` where it stays CREATING
    */
  def ready(stream: StreamArn, name: String, owner: Option[ConsumerOwner]): StreamConsumer =
    pursue(Goal.Ready, consumerOf(stream, name), stream, name, owner)(find(stream, name))

  /** The consumer of that name, which others register, once it is ACTIVE.
    *
    * @throws KinesisException `KINESIS_NOT_FOUND` where it isn't registered, or is being deleted
    */
  def awaitActive(stream: StreamArn, name: String): StreamConsumer =
    pursue(Goal.Found, consumerOf(stream, name), stream, name)(find(stream, name))

  /** This registration of a consumer, once it is ACTIVE. */
  def awaitActive(arn: ConsumerArn): StreamConsumer =
    pursue(Goal.Found, resource(s"consumer $arn"), arn.stream, arn.name)(find(arn))

  /** Starts the deletion, which takes the service a while. A consumer that is gone already is no error. */
  def deregister(arn: ConsumerArn): Unit = deregister(arn, calls)

  /** As [[deregister]], but retried for [[QuestionTime]] alone: the end of a query waits for it. */
  def deregisterAtStop(arn: ConsumerArn): Unit = deregister(arn, briefly)

  private def deregister(arn: ConsumerArn, by: BlockingCalls): Unit = {
    val request =
      DeregisterStreamConsumerRequest.builder().consumerARN(arn.text).overrideConfiguration(by.inTime).build()
    val done = unlessNotFound(
      by.call(AwsCall.DeregisterStreamConsumer, resource(s"consumer $arn"))(client.deregisterStreamConsumer(request))
    )
    log.info(s"consumer $arn is ${done.fold("gone already")(_ => "deregistered")}")
  }

  private def findByName(stream: StreamArn, name: String, by: BlockingCalls): Option[StreamConsumer] =
    describe(consumerOf(stream, name), by, b => { b.streamARN(stream.text).consumerName(name); () })

  private def describe(
      what: String,
      by: BlockingCalls,
      which: DescribeStreamConsumerRequest.Builder => Unit
  ): Option[StreamConsumer] = {
    val request = DescribeStreamConsumerRequest.builder().overrideConfiguration(by.inTime)
    which(request)
    unlessNotFound(
      by.call(AwsCall.DescribeStreamConsumer, what)(
        DamagedAnswer.unlessRead(client.describeStreamConsumer(request.build())) { answer =>
          StreamConsumer.of(answer.consumerDescription)
        }
      )
    )
  }

  private def unlessNotFound[A](call: => A): Option[A] =
    try Some(call)
    catch { case e: KinesisException if e.reason == FailureReason.NotFound => None }

  private def pursue(
      goal: Goal,
      what: String,
      stream: StreamArn,
      name: String,
      owner: Option[ConsumerOwner] = None
  )(look: => Option[StreamConsumer]): StreamConsumer = {
    @tailrec def next(registration: Registration, event: Event): StreamConsumer = {
      val (after, command) = registration.step(event, retries, hasWorked(), runtime.clock.nanos(), runtime.ids.chance())
      command match {
        case Command.Done(consumer)      => consumer
        case Command.Fail(failure)       => throw ConsumerFailure.exception(what, failure, after)
        case Command.Register(isTagged)  => next(after, registerOnce(stream, name, owner, isTagged))
        case Command.ListConsumers(f, s) => next(after, Event.Listed(f, s, consumersIfAllowed(stream)))
        case Command.Look(wait, why)     =>
          calls.pause("consumer", what, ConsumerFailure.describe(what, why), wait)
          next(after, Event.Described(look))
      }
    }
    next(Registration(goal, isTagged = owner.isDefined), Event.Described(look))
  }

  private def registerOnce(stream: StreamArn, name: String, owner: Option[ConsumerOwner], isTagged: Boolean): Event = {
    val all     = tags ++ owner.filter(_ => isTagged).fold(Map.empty[String, String])(tagOf)
    val request = RegisterStreamConsumerRequest
      .builder()
      .streamARN(stream.text)
      .consumerName(name)
      .overrideConfiguration(calls.inTime)
    // No tags is not the same as an empty map of them: that needs the permission to tag.
    if (all.nonEmpty) request.tags(all.asJava)
    calls.once(AwsCall.RegisterStreamConsumer)(sent(request.build())) match {
      case Left(fault)     => Event.Refused(fault)
      case Right(consumer) =>
        if (owner.isDefined && !isTagged)
          log.warn(
            s"Stream consumer ${consumer.arn} is registered without the tag ${FanOutOptions.OwnerTag}, because kinesis:TagResource is denied. If " +
              "this driver is killed, no later run deregisters the consumer, and it is charged for. Allow kinesis:TagResource, or set " +
              "efo.deregisterOnStop to false."
          )
        Event.Described(Some(consumer))
    }
  }

  /** The call continues when the returned future is cancelled, because the service may have received it. */
  private def sent(request: RegisterStreamConsumerRequest): CompletableFuture[StreamConsumer] = {
    val answer = DamagedAnswer
      .unlessRead(client.registerStreamConsumer(request))(answer => StreamConsumer.of(answer.consumer))
      .thenApply[StreamConsumer] { consumer =>
        log.info(s"consumer ${consumer.arn} is registered and ${consumer.status}")
        registered(consumer.arn)
        made = Some(consumer)
        consumer
      }
    lastRegistration = answer.thenApply[Option[StreamConsumer]](Some(_))
    answer.thenApply[StreamConsumer](identity(_))
  }

  private def tagOf(owner: ConsumerOwner): Map[String, String] = Map(FanOutOptions.OwnerTag -> owner.tag)

  /** The listing only distinguishes the limits. A caller who may register need not be allowed to list. */
  private def consumersIfAllowed(stream: StreamArn): Seq[StreamConsumer] =
    try list(stream)
    catch {
      case e: KinesisException if e.reason == FailureReason.AccessDenied =>
        log.info(s"the consumers of $stream can't be listed: ${e.getMessage}")
        Nil
    }

  private def consumerOf(stream: StreamArn, name: String): String = resource(s"consumer $name of stream $stream")

  /** With the endpoint: an ARN alone doesn't show that the option was forgotten. */
  private def resource(what: String): String =
    client.serviceClientConfiguration.endpointOverride.map[String](e => s"$what (endpoint $e)").orElse(what)
}

private[kinesisspark] object ConsumerDirectory {

  /** How long one question about a consumer may hold up the end of a query, or its start. */
  private val QuestionTime: FiniteDuration = 30.seconds

  /** The most that the service gives in one answer. */
  private val PageSize = 100

  /** Of one stream; the service allows 50. */
  private val MostConsumers = 10000
}
