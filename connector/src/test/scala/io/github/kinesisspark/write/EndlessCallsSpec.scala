package io.github.kinesisspark.write

import java.net.{InetAddress, ServerSocket, URI}
import java.util.concurrent.CountDownLatch

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.Using

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.tagobjects.Slow
import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, AwsCredentials, AwsCredentialsProvider}

import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.{
  BlockingCalls,
  ClientKind,
  KinesisClients,
  KinesisException,
  ShardFilter,
  StreamDirectory
}
import io.github.kinesisspark.config.{
  CallRetries,
  ClientOptions,
  ConnectionOptions,
  CredentialsOptions,
  Secret,
  StreamRef
}
import io.github.kinesisspark.write.pack.Packing
import io.github.kinesisspark.write.send.{Entry, RowId, SendSettings, Sending}

/** Calls that don't end by themselves. The limits of PutRecords are shorter than their defaults, so that the tests are. */
class EndlessCallsSpec extends AnyFunSpec with Matchers {
  private val stream = StreamRef.ByName("events")
  private val silent = CredentialsOptions.ProviderClass(classOf[Silent].getName, Map.empty)
  private val nobody = new URI("http://127.0.0.1:1")

  private def made(options: ClientOptions) = KinesisClients.make(runtime.workers.growing("credentials"), 300.millis)(
    KinesisClients.Key(options, "eu-west-1", ClientKind.Writes),
    new KinesisClients.Success
  )

  /** What a write of one row to the endpoint fails with. */
  private def failure(
      endpoint: URI,
      credentials: CredentialsOptions,
      maxRetry: FiniteDuration
  ): KinesisException = {
    val impatient = ConnectionOptions(readTimeout = Some(300.millis))
    val options   = ClientOptions(None, Some(endpoint), credentials, impatient)
    Using.resource(made(options)) { held =>
      val writer = new TaskWriter(
        Sending(
          SendSettings(ordered = false, bufferSize = 1L << 20, maxCalls = 4, CallRetries.default.within(maxRetry))
        ),
        new Packing.Plain,
        (stream, entries) => PutRecordsCall(held.client, stream, entries, () => held.success.isThere),
        _ => (),
        () => false,
        linger = None,
        writers = WriterRuntime.ofJvm
      )
      writer.write(new Entry(stream, "key", None, new Array[Byte](10), RowId("run", 0, 0)))
      Await.result(Future(intercept[KinesisException](writer.flush()))(ExecutionContext.global), 2.minutes)
    }
  }

  it("a write whose credentials provider never answers fails after maxRetryDuration, and the error names it") {
    val error = failure(nobody, silent, maxRetry = 1.second)
    error.errorClass shouldBe "KINESIS_WRITE_TIMED_OUT"
    error.getMessage should (include("stream events") and include(
      s"credentialsProvider ${classOf[Silent].getName} gave no credentials"
    ))
  }

  it("a write that never gets an answer fails after maxRetryDuration, and the error says so") {
    // It takes connections, and reads and writes nothing.
    Using.resource(new ServerSocket(0, 50, InetAddress.getLoopbackAddress)) { server =>
      val keys  = CredentialsOptions.StaticKeys(new Secret("id"), new Secret("secret"), None)
      val error = failure(new URI(s"http://127.0.0.1:${server.getLocalPort}"), keys, maxRetry = 1.second)
      error.errorClass shouldBe "KINESIS_WRITE_TIMED_OUT"
      error.getMessage should (include("stream events") and include("No answer in time") and include(
        "maxRetryDuration"
      ))
      error.getMessage should not include "Spread the keys"
    }
  }

  it("a listing of shards whose credentials provider never answers fails, and the error says so", Slow) {
    Using.resource(
      KinesisClients.ofJvm.lease(ClientOptions(None, Some(nobody), silent), "eu-west-1", ClientKind.Writes)
    ) { lease =>
      val directory = new StreamDirectory(lease.client, BlockingCalls.of(lease).within(1.second))
      val error     = intercept[KinesisException](directory.listShards(stream, ShardFilter.All))
      error.errorClass shouldBe "KINESIS_CREDENTIALS_TIMED_OUT"
      error.getMessage should (include("stream events") and include("gave no credentials within 30 s"))
    }
  }
}

/** Never gives any. */
final class Silent extends AwsCredentialsProvider {
  override def resolveCredentials(): AwsCredentials = {
    new CountDownLatch(1).await()
    AwsBasicCredentials.create("id", "secret")
  }
}
