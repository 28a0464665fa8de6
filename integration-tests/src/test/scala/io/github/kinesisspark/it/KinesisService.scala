package io.github.kinesisspark.it

import java.net.URI
import java.time.Duration
import java.util.concurrent.{CompletableFuture, ExecutionException, TimeUnit}

import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy
import software.amazon.awssdk.http.Protocol
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.retries.api.RetryStrategy
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

/** A running Kinesis that tests can reach: where it is, and SDK clients for it.
  *
  * @param endpoint None for the service's own endpoint in the region
  */
final class KinesisService(
    val endpoint: Option[URI],
    val region: Region,
    val credentials: AwsCredentialsProvider,
    onClose: () => Unit
) extends AutoCloseable {

  /** Retries throttled and failed calls, as applications do. */
  lazy val client: KinesisAsyncClient = newClient(Protocol.HTTP1_1, AwsRetryStrategy.standardRetryStrategy())

  /** Shows every refusal of the server as it comes. */
  lazy val impatientClient: KinesisAsyncClient = newClient(Protocol.HTTP1_1, AwsRetryStrategy.doNotRetry())

  /** A client of the caller's own, who closes it. SubscribeToShard needs [[Protocol.HTTP2]] (without TLS: h2c with prior
    * knowledge); for plain calls HTTP/1.1 is as fast and every server speaks it.
    */
  def newClient(protocol: Protocol, retries: RetryStrategy): KinesisAsyncClient = {
    val builder = KinesisAsyncClient
      .builder()
      .region(region)
      .credentialsProvider(credentials)
      .httpClientBuilder(
        NettyNioAsyncHttpClient
          .builder()
          .protocol(protocol)
          .readTimeout(KinesisService.AnswerWithin)
          .writeTimeout(KinesisService.AnswerWithin)
          .connectionTimeout(KinesisService.AnswerWithin)
          .connectionAcquisitionTimeout(KinesisService.AnswerWithin)
      )
      .overrideConfiguration(c => c.retryStrategy(retries))
    endpoint.foreach(builder.endpointOverride)
    builder.build()
  }

  /** Makes a call, waits for its answer and gives it, or throws the SDK's own exception. */
  def call[A](request: KinesisAsyncClient => CompletableFuture[A]): A = KinesisService.await(request(client))

  /** As [[call]], without any retry. */
  def callOnce[A](request: KinesisAsyncClient => CompletableFuture[A]): A =
    KinesisService.await(request(impatientClient))

  override def close(): Unit = {
    client.close()
    impatientClient.close()
    onClose()
  }
}

object KinesisService {
  // Some local servers take more than the SDK's 10 s for an answer of 10 MiB, on a busy machine.
  private val AnswerWithin = Duration.ofMinutes(2)

  private def await[A](answer: CompletableFuture[A]): A =
    try answer.get(AnswerWithin.toSeconds, TimeUnit.SECONDS)
    catch { case e: ExecutionException => throw e.getCause }
}

/** A service and its clock's handle: `advance` makes time jump for it alone. */
final case class ClockedService(service: KinesisService, advance: Duration => Unit)
