package io.github.kinesisspark.testkit

import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, AwsCredentials, StaticCredentialsProvider}
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.core.retry.RetryMode
import software.amazon.awssdk.http.Protocol
import software.amazon.awssdk.http.SdkHttpConfigurationOption._
import software.amazon.awssdk.http.async.SdkAsyncHttpClient
import software.amazon.awssdk.http.nio.netty.{Http2Configuration, NettyNioAsyncHttpClient}
import software.amazon.awssdk.http.ProtocolNegotiation
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.retries.DefaultRetryStrategy
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._
import software.amazon.awssdk.utils.AttributeMap

import java.net.URI
import java.time.Duration
import java.util.concurrent.{CompletableFuture, CompletionException}
import scala.jdk.CollectionConverters._

/** Real clients of the AWS SDK against a test server, and short ways to say what the tests say often. */
object Clients {

  /** A client that never retries, so that a test sees each answer.
    *
    * @param window the HTTP/2 window it grants, if not the SDK's own 1 MiB
    * @param negotiation how HTTP/2 is agreed on over TLS
    */
  def client(
      endpoint: URI,
      protocol: Protocol = Protocol.HTTP1_1,
      retry: Boolean = false,
      window: Option[Int] = None,
      negotiation: ProtocolNegotiation = ProtocolNegotiation.ALPN,
      credentials: AwsCredentials = AwsBasicCredentials.create("id", "secret"),
      region: Region = Region.US_EAST_1
  ): KinesisAsyncClient =
    KinesisAsyncClient.builder
      .endpointOverride(endpoint)
      .region(region)
      .credentialsProvider(StaticCredentialsProvider.create(credentials))
      .httpClient(http(endpoint, protocol, window, negotiation))
      .overrideConfiguration { c =>
        if (retry) c.retryStrategy(RetryMode.STANDARD) else c.retryStrategy(DefaultRetryStrategy.doNotRetry())
        ()
      }
      .build()

  private def http(
      endpoint: URI,
      protocol: Protocol,
      window: Option[Int],
      negotiation: ProtocolNegotiation
  ): SdkAsyncHttpClient = {
    val builder = NettyNioAsyncHttpClient.builder
    if (endpoint.getScheme == "https" && protocol == Protocol.HTTP2)
      builder.protocolNegotiation(negotiation)
    builder.http2Configuration { (b: Http2Configuration.Builder) =>
      b.healthCheckPingPeriod(Duration.ZERO)
      window.foreach(bytes => b.initialWindowSize(bytes))
    }
    builder.buildWithDefaults(
      AttributeMap.builder
        .put(PROTOCOL, protocol)
        .put(TRUST_ALL_CERTIFICATES, java.lang.Boolean.TRUE)
        .put(CONNECTION_TIMEOUT, Patience)
        .put(CONNECTION_ACQUIRE_TIMEOUT, Patience)
        .put(TLS_NEGOTIATION_TIMEOUT, Patience)
        .put(READ_TIMEOUT, Patience)
        .build()
    )
  }

  // The SDK's own end calls and connections after 5 to 30 s in which the machine stands still.
  private val Patience = Duration.ofMinutes(2)

  /** The answer, or the client's exception as it is. */
  def await[A](future: CompletableFuture[A]): A =
    try future.join()
    catch { case e: CompletionException => throw e.getCause }

  implicit class ClientOps(private val client: KinesisAsyncClient) extends AnyVal {

    def create(stream: String, shards: Int): Unit = {
      await(client.createStream { (b: CreateStreamRequest.Builder) => b.streamName(stream).shardCount(shards); () })
      ()
    }

    /** The ARN of a new consumer. */
    def register(streamArn: String, name: String = "reader"): String = await(
      client.registerStreamConsumer { (b: RegisterStreamConsumerRequest.Builder) =>
        b.streamARN(streamArn).consumerName(name); ()
      }
    ).consumer.consumerARN

    def deregister(consumerArn: String): Unit = {
      await(client.deregisterStreamConsumer { (b: DeregisterStreamConsumerRequest.Builder) =>
        b.consumerARN(consumerArn); ()
      })
      ()
    }

    def put(stream: String, key: String, data: String): PutRecordResponse = await(
      client.putRecord { (b: PutRecordRequest.Builder) =>
        b.streamName(stream).partitionKey(key).data(SdkBytes.fromUtf8String(data)); ()
      }
    )

    def putAll(stream: String, entries: Seq[(String, String)]): PutRecordsResponse = {
      val members = entries.map { case (key, data) =>
        PutRecordsRequestEntry.builder.partitionKey(key).data(SdkBytes.fromUtf8String(data)).build()
      }
      await(client.putRecords { (b: PutRecordsRequest.Builder) => b.streamName(stream).records(members.asJava); () })
    }

    def iterator(
        stream: String,
        shard: String,
        kind: ShardIteratorType = ShardIteratorType.TRIM_HORIZON,
        more: GetShardIteratorRequest.Builder => Unit = _ => ()
    ): String = await(
      client.getShardIterator((b: GetShardIteratorRequest.Builder) =>
        more(b.streamName(stream).shardId(shard).shardIteratorType(kind))
      )
    ).shardIterator

    def get(iterator: String, limit: Option[Int] = None): GetRecordsResponse = await(
      client.getRecords { (b: GetRecordsRequest.Builder) =>
        b.shardIterator(iterator)
        limit.foreach(b.limit(_))
      }
    )

    /** The data of everything in a shard, by as many calls as it takes. */
    def readAll(stream: String, shard: String): Vector[String] = {
      def from(iterator: Option[String], read: Vector[String]): Vector[String] = iterator match {
        case None     => read
        case Some(it) =>
          val answer = get(it)
          val all    = read ++ answer.records.asScala.map(_.data.asUtf8String)
          if (answer.millisBehindLatest == 0) all else from(Option(answer.nextShardIterator), all)
      }
      from(Some(iterator(stream, shard)), Vector.empty)
    }

    def shards(stream: String, more: ListShardsRequest.Builder => Unit = _ => ()): Vector[Shard] =
      await(
        client.listShards { (b: ListShardsRequest.Builder) => b.streamName(stream); more(b) }
      ).shards.asScala.toVector
  }
}
