package io.github.kinesisspark.write

import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicInteger

import scala.util.{Success, Try}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.KinesisServiceClientConfiguration
import software.amazon.awssdk.services.kinesis.model.{
  ListShardsRequest,
  ListShardsResponse,
  ResourceNotFoundException,
  Shard
}

import io.github.kinesisspark.ContextClassLoader
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.{KinesisClients, KinesisException, OfflineClient, RetryPolicy}
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, SinkOptions, StreamRef}
import io.github.kinesisspark.write.send.CallAnswer

class PutRecordsCallsSpec extends AnyFunSpec with Matchers {
  it("a client that another thread opens finds the classes of the task's session") {
    val found   = new java.util.concurrent.LinkedBlockingQueue[ClassLoader]
    val clients = new KinesisClients((_, success) => {
      found.add(Thread.currentThread.getContextClassLoader)
      new KinesisClients.SharedClient(new OfflineClient, success, () => ())
    })
    val session = new ClassLoader(getClass.getClassLoader) {}
    val calls   = ContextClassLoader.within(session)(
      new PutRecordsCalls(_ => options, hasWritten = false, () => false, new WriterRuntime(clients))
    )
    calls.put(StreamRef.ByName("events"), Vector.empty)
    calls.close()
    found.poll() shouldBe theSameInstanceAs(session)
  }

  it(
    "a failure of a client's first call counts as one after a success where another JVM has written for the same query"
  ) {
    for (hasWritten <- Seq(true, false)) {
      val clients =
        new KinesisClients((_, success) => new KinesisClients.SharedClient(new OfflineClient, success, () => ()))
      val calls = new PutRecordsCalls(_ => options, hasWritten, () => false, new WriterRuntime(clients))
      calls.put(StreamRef.ByName("events"), Vector.empty).get() should matchPattern {
        case CallAnswer.Failed(_, `hasWritten`, _) =>
      }
      calls.close()
    }
  }

  it(
    "a listing of shards is repeated if the service does not find the stream, as it may have been created a moment ago"
  ) {
    val once = SinkOptions.parse(
      Map("streamName" -> "events", "listShards.backoff.base" -> "1ms", "listShards.backoff.max" -> "1ms")
    )
    for ((failures, isListed) <- Seq(RetryPolicy.SuspectRetries -> true, RetryPolicy.SuspectRetries + 1 -> false)) {
      val client  = new NewStream(failures)
      val clients = new KinesisClients((_, success) => new KinesisClients.SharedClient(client, success, () => ()))
      val calls   = new PutRecordsCalls(
        _ => once.client.copy(region = Some("eu-west-1")),
        hasWritten = false,
        () => false,
        new WriterRuntime(clients)
      )
      val listed = Try(calls.shards(StreamRef.ByName("events")))
      if (isListed) listed shouldBe Success(Vector.empty)
      else listed.failed.get should matchPattern { case e: KinesisException if e.errorClass == "KINESIS_NOT_FOUND" => }
      calls.close()
    }
  }

  /** Its stream isn't found in the first calls. */
  private final class NewStream(failures: Int) extends OfflineClient {
    private val calls = new AtomicInteger

    override def serviceClientConfiguration: KinesisServiceClientConfiguration = {
      val builder = KinesisServiceClientConfiguration.builder
      builder.region(Region.EU_WEST_1): Unit
      builder.build
    }

    override def listShards(request: ListShardsRequest): CompletableFuture[ListShardsResponse] =
      if (calls.incrementAndGet() <= failures)
        CompletableFuture.failedFuture(ResourceNotFoundException.builder.build)
      else CompletableFuture.completedFuture(ListShardsResponse.builder.shards(java.util.List.of[Shard]()).build)
  }

  private val options = ClientOptions(Some("eu-west-1"), None, CredentialsOptions.DefaultChain)
}
