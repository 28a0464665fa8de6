package io.github.kinesisspark.aws

import java.time.Instant
import java.util.concurrent.CompletableFuture

import io.github.kinesisspark.config.{CallRetries, RetryOptions}
import io.github.kinesisspark.position.StreamArn
import io.github.kinesisspark.runtime.Runtime
import org.scalatest.funsuite.AnyFunSuite
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.model.{
  Consumer,
  ConsumerDescription,
  DescribeStreamConsumerRequest,
  DescribeStreamConsumerResponse,
  ExpiredNextTokenException,
  LimitExceededException,
  ListStreamConsumersRequest,
  ListStreamConsumersResponse,
  RegisterStreamConsumerRequest,
  RegisterStreamConsumerResponse,
  ResourceNotFoundException
}
import software.amazon.awssdk.services.kinesis.{KinesisAsyncClient, KinesisServiceClientConfiguration}

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration._

/** Pages: no stream has enough consumers for a second one, but the service may give fewer than it is asked for. Answers that lack a member. */
class ConsumerDirectoryTest extends AnyFunSuite {
  import ConsumerDirectoryTest.directory

  private val stream  = StreamArn("arn:aws:kinesis:eu-west-1:000000000000:stream/orders")
  private val retry   = RetryOptions(Some(2), 100.millis, 1.second, 2.0)
  private val retries = CallRetries(Map("ListStreamConsumers" -> retry), maxDuration = 15.minutes)

  private type Step = Either[Throwable, ListStreamConsumersResponse]

  private class Regional extends OfflineClient {
    override def serviceClientConfiguration(): KinesisServiceClientConfiguration = {
      val builder = KinesisServiceClientConfiguration.builder()
      builder.region(Region.EU_WEST_1)
      builder.build()
    }
  }

  /** Answers from a script, the last line without end. */
  private final class Scripted(script: Step*) extends Regional {
    val asked = ListBuffer.empty[ListStreamConsumersRequest]

    override def listStreamConsumers(
        request: ListStreamConsumersRequest
    ): CompletableFuture[ListStreamConsumersResponse] = {
      asked += request
      script((asked.size - 1).min(script.size - 1))
        .fold(CompletableFuture.failedFuture(_), CompletableFuture.completedFuture(_))
    }
  }

  private def page(next: String, names: String*): Step = Right(
    ListStreamConsumersResponse
      .builder()
      .consumers(
        names.map(name =>
          Consumer
            .builder()
            .consumerName(name)
            .consumerARN(s"$stream/consumer/$name:1")
            .consumerStatus("ACTIVE")
            .consumerCreationTimestamp(Instant.EPOCH)
            .build()
        )*
      )
      .nextToken(next)
      .build()
  )

  private val expired: Step   = Left(ExpiredNextTokenException.builder.message("too old").build)
  private val throttled: Step = Left(LimitExceededException.builder.message("too many").build)

  private def list(script: Step*): (Scripted, FakeTime, () => Seq[String]) = {
    val (client, time) = (new Scripted(script*), new FakeTime)
    (client, time, () => directory(client, retries)(time.runtime).list(stream).map(_.name))
  }

  test("the pages of a listing are concatenated") {
    val (client, _, names) = list(page("t1", "a", "b"), page("t2"), page(null, "c"))
    assert(names() == Seq("a", "b", "c"))
    assert(client.asked.map(_.nextToken) == Seq(null, "t1", "t2"))
    assert(client.asked.forall(_.streamARN == stream.text))
  }

  test("an expired page token restarts the listing and drops the earlier pages") {
    val (client, _, names) = list(page("t1", "a"), expired, page("t2", "a"), page(null, "b"))
    assert(names() == Seq("a", "b"))
    assert(client.asked.map(_.nextToken) == Seq(null, "t1", null, "t2"))
  }

  test("page tokens that keep expiring fail the listing") {
    val (client, _, names) = list(expired)
    assert(intercept[KinesisException](names()).errorClass == "KINESIS_PAGING_EXPIRED")
    assert(client.asked.size == 9)
  }

  test("a throttled page is retried as configured, then fails the listing") {
    val (_, time, names) = list(page("t1", "a"), throttled, throttled, page(null, "b"))
    assert(names() == Seq("a", "b") && time.waits.toSeq == Seq(50.millis, 100.millis))
    val (client, _, never) = list(throttled)
    val e                  = intercept[KinesisException](never())
    assert(e.errorClass == "KINESIS_THROTTLED" && client.asked.size == 3)
    assert(e.getMessage.contains(s"ListStreamConsumers failed for stream $stream"))
  }

  test("a listing with a consumer that lacks a member is repeated, then fails with its class") {
    val damaged: Step = Right(
      ListStreamConsumersResponse.builder().consumers(Consumer.builder().consumerName("a").build()).build()
    )
    val (client, _, names) = list(damaged, page(null, "a"))
    assert(names() == Seq("a") && client.asked.size == 2)
    val (_, _, never) = list(damaged)
    assert(intercept[KinesisException](never()).errorClass == "KINESIS_ANSWER_DAMAGED")
  }

  /** Describes a consumer from a script, the last line without end, and registers any by an answer without members. */
  private final class Describing(script: Either[Throwable, ConsumerDescription]*) extends Regional {
    var described = 0

    override def describeStreamConsumer(
        request: DescribeStreamConsumerRequest
    ): CompletableFuture[DescribeStreamConsumerResponse] = {
      described += 1
      script((described - 1).min(script.size - 1)).fold(
        CompletableFuture.failedFuture(_),
        found =>
          CompletableFuture.completedFuture(DescribeStreamConsumerResponse.builder().consumerDescription(found).build())
      )
    }

    override def registerStreamConsumer(
        request: RegisterStreamConsumerRequest
    ): CompletableFuture[RegisterStreamConsumerResponse] =
      CompletableFuture.completedFuture(RegisterStreamConsumerResponse.builder().build())

    val consumers: ConsumerDirectory = directory(this, CallRetries.default)((new FakeTime).runtime)
  }

  private val active = ConsumerDescription
    .builder()
    .consumerName("a")
    .consumerARN(s"$stream/consumer/a:1")
    .consumerStatus("ACTIVE")
    .consumerCreationTimestamp(Instant.EPOCH)
    .build()

  test("a description of a consumer that lacks a member is repeated, then fails with its class") {
    for (damaged <- Seq(null, active.toBuilder.consumerCreationTimestamp(null).build())) {
      val client = new Describing(Right(damaged), Right(active))
      assert(client.consumers.find(stream, "a").map(_.name).contains("a") && client.described == 2)
      val never = new Describing(Right(damaged))
      val e     = intercept[KinesisException](never.consumers.find(stream, "a"))
      assert(e.errorClass == "KINESIS_ANSWER_DAMAGED" && e.getMessage.contains("DescribeStreamConsumer"))
    }
  }

  test("a registration whose answer lacks the consumer is followed by a look at it") {
    val absent = ResourceNotFoundException.builder.message("none").build
    val client = new Describing(Left(absent), Right(active))
    assert(client.consumers.register(stream, "a").name == "a" && client.described == 2)
  }
}

private[aws] object ConsumerDirectoryTest {
  def directory(client: KinesisAsyncClient, retries: CallRetries)(implicit runtime: Runtime): ConsumerDirectory =
    new ConsumerDirectory(client, retries, () => false, SilentCalls, tags = Map.empty, registered = _ => ())
}
