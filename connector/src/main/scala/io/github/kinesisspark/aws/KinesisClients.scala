package io.github.kinesisspark.aws

import java.time.Duration

import io.github.kinesisspark.config.ClientOptions
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy
import software.amazon.awssdk.http.Protocol
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import scala.concurrent.duration._

/** A client on loan. Closing it, once or more often, gives it back. */
trait ClientLease extends AutoCloseable {

  /** Good until this lease is closed. It doesn't retry: who calls decides that by [[FaultClassifier]]. */
  def client: KinesisAsyncClient

  override def close(): Unit
}

/** The JVM's Kinesis clients: one per equal options and region, shared by all queries, shards and tasks that ask for it, because each
  * has its own connections and credentials.
  */
object KinesisClients {

  /** Requests under way at once, each with a connection. Kinesis takes 5 GetRecords a second per shard, so an executor with
    * hundreds of shards keeps far fewer busy; more wait in line.
    */
  val MaxConcurrency = 512

  /** How long a request may wait in that line. */
  val AcquisitionTimeout: FiniteDuration = 60.seconds

  /** How long a client without leases stays open: micro-batches take leases again and again. */
  val IdleTime: FiniteDuration = 60.seconds

  /** A client for these options; the first lease makes it, the last one's end closes it after a while.
    *
    * @param region as [[Regions.resolve]] found it
    * @throws KinesisException `KINESIS_CREDENTIALS_PROVIDER` for a class of the user's that can't be used
    */
  def lease(options: ClientOptions, region: String): ClientLease = {
    val lease = shared.lease((options, region))
    new ClientLease {
      override def client: KinesisAsyncClient = lease.value.client
      override def close(): Unit              = lease.close()
    }
  }

  private lazy val shared = new SharedPool[(ClientOptions, String), Held](
    { case (options, region) => make(options, region) },
    IdleTime,
    SharedPool.closer
  )

  /** A client and what must go with it. */
  private[aws] final class Held(val client: KinesisAsyncClient, credentials: Credentials) extends AutoCloseable {
    override def close(): Unit =
      try client.close()
      finally credentials.close()
  }

  private[aws] def make(options: ClientOptions, region: String): Held = {
    val credentials = Credentials(options.credentials, region)
    val http        = NettyNioAsyncHttpClient
      .builder()
      // Faster than HTTP/2 for answers of 1 MB; subscriptions need HTTP/2 and have a client of their own.
      .protocol(Protocol.HTTP1_1)
      .maxConcurrency(MaxConcurrency)
      .maxPendingConnectionAcquires(100_000)
      .connectionAcquisitionTimeout(Duration.ofMillis(AcquisitionTimeout.toMillis))
      .connectionTimeout(Duration.ofSeconds(10))
      // An answer of 10 MB that stops for so long is dead.
      .readTimeout(Duration.ofSeconds(30))
      .tcpKeepAlive(true)
    val builder = KinesisAsyncClient
      .builder()
      .region(Region.of(region))
      .credentialsProvider(credentials.provider)
      .httpClientBuilder(http)
      .overrideConfiguration { o => o.retryStrategy(AwsRetryStrategy.doNotRetry()); () }
    options.endpoint.foreach(builder.endpointOverride(_))
    new Held(builder.build(), credentials)
  }
}
