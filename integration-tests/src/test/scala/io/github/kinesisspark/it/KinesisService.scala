package io.github.kinesisspark.it

import java.net.URI
import java.time.Duration
import java.util.concurrent.{CompletableFuture, ExecutionException, TimeUnit}

import software.amazon.awssdk.auth.credentials.{AwsCredentialsProvider, StaticCredentialsProvider}
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy
import software.amazon.awssdk.core.retry.RetryUtils
import software.amazon.awssdk.core.exception.SdkException
import software.amazon.awssdk.http.{Protocol, ProtocolNegotiation}
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.retries.api.RetryStrategy
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model.LimitExceededException

/** A running Kinesis that tests can reach: where it is, which keys it takes, and SDK clients for it.
  *
  * @param endpoint None for the service's own endpoint in the region
  * @param credentials a [[StaticCredentialsProvider]] where the test has keys, otherwise the SDK's default chain
  * @param patience how long tests wait for the service's states
  */
final class KinesisService(
    val endpoint: Option[URI],
    val region: Region,
    val credentials: AwsCredentialsProvider,
    onClose: () => Unit,
    val patience: Patience = Patience.emulator
) extends AutoCloseable {

  /** The connector's options for this service. Without static keys they name none, and the connector uses the default chain
    * as well.
    */
  def options: Map[String, String] = Map("region" -> region.id) ++
    endpoint.map(e => "endpoint" -> e.toString) ++
    (credentials match {
      case static: StaticCredentialsProvider =>
        val keys = static.resolveCredentials()
        Map("accessKeyId" -> keys.accessKeyId, "secretAccessKey" -> keys.secretAccessKey)
      case _ => Map.empty
    })

  /** Retries throttled and failed calls, as applications do. */
  lazy val client: KinesisAsyncClient = newClient(Protocol.HTTP1_1, KinesisService.patientRetries())

  /** Never retries, so that a test sees each refusal. */
  lazy val impatientClient: KinesisAsyncClient = newClient(Protocol.HTTP1_1, AwsRetryStrategy.doNotRetry())

  /** A client that the caller closes. SubscribeToShard needs [[Protocol.HTTP2]]; for other calls HTTP/1.1 is as fast, and
    * every server speaks it.
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
          .protocolNegotiation(KinesisService.negotiation(protocol, endpoint))
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

  // Control calls have quotas of 5 to 20 a second for the whole account, and their refusal is no throttling to the SDK.
  private def patientRetries(): RetryStrategy = AwsRetryStrategy
    .standardRetryStrategy()
    .toBuilder
    .maxAttempts(12)
    .circuitBreakerEnabled(false)
    .retryOnException(classOf[LimitExceededException])
    .treatAsThrottling {
      case e: SdkException => e.isInstanceOf[LimitExceededException] || RetryUtils.isThrottlingException(e)
      case _               => false
    }
    .build()

  /** AWS's endpoints take HTTP/2 by prior knowledge, and in cleartext nothing can be negotiated; any other TLS endpoint
    * negotiates by ALPN.
    */
  private[it] def negotiation(protocol: Protocol, endpoint: Option[URI]): ProtocolNegotiation =
    endpoint.filter(e => protocol == Protocol.HTTP2 && e.getScheme == "https") match {
      case Some(e) if !e.getHost.endsWith(".amazonaws.com") => ProtocolNegotiation.ALPN
      case _                                                => ProtocolNegotiation.ASSUME_PROTOCOL
    }

  private def await[A](answer: CompletableFuture[A]): A =
    try answer.get(AnswerWithin.toSeconds, TimeUnit.SECONDS)
    catch { case e: ExecutionException => throw e.getCause }
}

/** A service and its clock's handle: `advance` makes time jump for it alone. */
final case class ClockedService(service: KinesisService, advance: Duration => Unit)
