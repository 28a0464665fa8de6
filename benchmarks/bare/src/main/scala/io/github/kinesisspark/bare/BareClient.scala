package io.github.kinesisspark.bare

import java.net.URI

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, StaticCredentialsProvider}
import software.amazon.awssdk.http.{Protocol, ProtocolNegotiation}
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model.ShardIteratorType

/** The AWS SDK's own client for a local server. */
private[bare] object BareClient {

  /** More than any benchmark has shards: a subscription, or a connection by HTTP/1.1, for each. */
  private val MaxConcurrency = 1000

  // Of PutRecords.
  private val MostRecords = 500
  private val MostBytes   = 4 << 20

  /** @param bytes of each record */
  def recordsOfCall(bytes: Int): Int = MostRecords.min(MostBytes / bytes).max(1)

  def shardIds(client: KinesisAsyncClient, stream: String): Vector[String] =
    client.listShards(r => r.streamName(stream): Unit).join().shards.asScala.map(_.shardId).toVector

  /** An iterator at the shard's oldest record. */
  def oldest(client: KinesisAsyncClient, stream: String, shard: String): String = client
    .getShardIterator(r => r.streamName(stream).shardId(shard).shardIteratorType(ShardIteratorType.TRIM_HORIZON): Unit)
    .join()
    .shardIterator

  /** @param isHttp2 HTTP/2, or else HTTP/1.1
    * @param window  of a stream of HTTP/2, in bytes
    */
  def of(endpoint: URI, isHttp2: Boolean, window: Int): KinesisAsyncClient = {
    val http = NettyNioAsyncHttpClient.builder.maxConcurrency(MaxConcurrency)
    if (isHttp2) {
      http.protocol(Protocol.HTTP2).http2Configuration(h => h.initialWindowSize(window): Unit)
      if (endpoint.getScheme == "https") http.protocolNegotiation(ProtocolNegotiation.ALPN)
    } else http.protocol(Protocol.HTTP1_1)
    KinesisAsyncClient.builder
      .region(Region.US_EAST_1)
      .endpointOverride(endpoint)
      .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("local", "local")))
      .httpClientBuilder(http)
      .build
  }
}
