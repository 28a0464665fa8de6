package io.github.kinesisspark.aws

import java.net.URI
import java.util.concurrent.{CompletableFuture, CompletionException, ThreadLocalRandom}

import scala.jdk.DurationConverters._

import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider
import software.amazon.awssdk.awscore.client.builder.{AwsAsyncClientBuilder, AwsClientBuilder}
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy
import software.amazon.awssdk.core.client.config.ClientOverrideConfiguration
import software.amazon.awssdk.profiles.ProfileFile
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.retries.api.{BackoffStrategy, RetryStrategy}

import io.github.kinesisspark.config.{ConnectionOptions, RetryOptions}

/** Makes clients of the services that give credentials, with the connection that Kinesis' own clients have.
  *
  * @param endpoint  instead of the region's own
  * @param overrides what the SDK has for a whole client
  */
private[aws] final case class ServiceClient(
    region: String,
    connection: ConnectionOptions,
    caller: AwsCredentialsProvider,
    endpoint: Option[URI],
    overrides: ClientOverrideConfiguration
) {

  /** With the endpoints that a profile names. */
  def withProfile(file: ProfileFile, name: String): ServiceClient =
    copy(overrides = overrides.toBuilder.defaultProfileFile(file).defaultProfileName(name).build())

  /** @param call the only one that is made with the client
    * @throws KinesisException `KINESIS_CA_BUNDLE`
    */
  def make[B <: AwsAsyncClientBuilder[B, C] & AwsClientBuilder[B, C], C](call: AwsCall, builder: B): C = {
    builder
      .region(Region.of(region))
      .credentialsProvider(caller)
      .httpClientBuilder(ClientKind.Calls.http(endpoint, connection))
      .overrideConfiguration(
        overrides.toBuilder.retryStrategy(ServiceClient.strategyOf(connection.retries.of(call.toString))).build()
      )
    ClientKind.configure(builder, endpoint, connection)
    builder.build()
  }
}

private[aws] object ServiceClient {

  def apply(
      region: String,
      connection: ConnectionOptions,
      caller: AwsCredentialsProvider,
      endpoint: Option[URI] = None
  ): ServiceClient = {
    // A server that sends a byte now and then keeps nobody waiting without end.
    val overrides = ClientKind
      .named(connection)
      .toBuilder
      .apiCallTimeout(connection.retries.attemptTime.toJava)
      .addExecutionInterceptor(ResponseFilter.Interceptor)
      .build()
    new ServiceClient(region, connection, caller, endpoint, overrides)
  }

  /** The SDK decides which failures are retried. */
  private def strategyOf(retry: RetryOptions): RetryStrategy = {
    val backoff                = Backoff.of(retry)
    val waits: BackoffStrategy = attempt => backoff.delay(attempt, ThreadLocalRandom.current().nextDouble()).toJava
    AwsRetryStrategy
      .legacyRetryStrategy()
      .toBuilder
      .maxAttempts(1 + retry.maxRetries.getOrElse(Int.MaxValue).min(Int.MaxValue - 1))
      .backoffStrategy(waits)
      .throttlingBackoffStrategy(waits)
      // It would end retries before their number, after many failures of one client.
      .circuitBreakerEnabled(false)
      .build()
  }

  /** @throws java.lang.Throwable what the call failed with */
  def waited[A](answer: CompletableFuture[A]): A =
    try answer.join()
    catch { case e: CompletionException if e.getCause != null => throw e.getCause }
}
