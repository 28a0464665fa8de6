package io.github.kinesisspark.aws

import java.net.URI
import java.util.regex.Pattern

import io.github.kinesisspark.config.{ConnectionOptions, ProxyOptions}
import io.netty.channel.ChannelHandler
import io.netty.channel.socket.nio.NioSocketChannel
import software.amazon.awssdk.awscore.client.builder.AwsClientBuilder
import software.amazon.awssdk.core.client.config.{ClientOverrideConfiguration, SdkAdvancedClientOption}
import software.amazon.awssdk.http.{Protocol, ProtocolNegotiation}
import software.amazon.awssdk.http.nio.netty.{
  Http2Configuration,
  NettyNioAsyncHttpClient,
  ProxyConfiguration,
  SdkEventLoopGroup
}
import software.amazon.awssdk.utils.ProxyConfigProvider

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.jdk.DurationConverters._

/** The calls that a client serves, which decide its protocol, limits and timeouts. */
sealed trait ClientKind extends Product with Serializable {

  /** @param endpoint instead of AWS's own
    * @throws KinesisException `KINESIS_CA_BUNDLE`, `KINESIS_CREDENTIALS_ALIAS`
    */
  private[aws] def http(endpoint: Option[URI], connection: ConnectionOptions): HttpBuilder
}

object ClientKind {

  /** How long a request may wait for a connection, or a stream on one. */
  val AcquisitionTimeout: FiniteDuration = 60.seconds

  /** Calls with one answer that change nothing: GetRecords, ListShards and so on. */
  case object Calls extends ClientKind {

    override private[aws] def http(
        endpoint: Option[URI],
        connection: ConnectionOptions
    ): HttpBuilder =
      HttpBuilder(
        oneAnswer(endpoint, connection)
          .readTimeout(connection.readTimeout.getOrElse(ConnectionOptions.Silence).toJava)
      )
  }

  /** PutRecords. A call that is given up is sent again, and the service may then store its records twice. So its limits are beyond what a
    * slow service or a slow uplink takes.
    */
  case object Writes extends ClientKind {

    /** Without a byte of the answer, once the request is sent. */
    val Silence: FiniteDuration = 60.seconds

    /** Of a whole call: seven calls of 10 MiB that share 2 Mbit/s take so long. */
    val CallTimeout: FiniteDuration = 5.minutes

    override private[aws] def http(
        endpoint: Option[URI],
        connection: ConnectionOptions
    ): HttpBuilder = HttpBuilder(
      oneAnswer(endpoint, connection)
        .readTimeout(connection.readTimeout.getOrElse(Silence).toJava)
        .writeTimeout(CallTimeout.toJava)
    )
  }

  /** SubscribeToShard, which AWS has over HTTP/2 alone: one stream per shard, for 5 minutes each. */
  case object Subscriptions extends ClientKind {

    /** Subscriptions at once. Each is an HTTP/2 stream that stays open, not a connection, so the number costs nothing until it is
      * used; the SDK's own 50 would be 50 shards, and the 51st would wait for a minute and fail.
      */
    val MaxConcurrency = 10000

    /** Longer than the 5 minutes of a subscription: one without demand for events (backpressure) is no error. Not
      * without end, so that a subscription that is held but never read again gives its stream back. Dead connections are found
      * sooner, by the pings and by the readers' watchdogs.
      */
    val ReadTimeout: FiniteDuration = 6.minutes

    /** What the service may send on a subscription before it is read. 2 MB/s for a quarter of a second: enough for any
      * distance to a region, and little enough that a thousand subscriptions that are not read hold 512 MiB, not more.
      */
    val Window: Int = 512 << 10

    /** Of one connection, all of whose events one thread decodes: shards that bring 2 MB/s each keep it busy by a tenth. */
    val MaxStreams = 16L

    /** A connection that doesn't answer pings is dead: half-open ones (dropped by a firewall) give no other sign. All subscriptions
      * on it then fail at once, and begin again on another.
      */
    val PingPeriod: FiniteDuration = 30.seconds

    override private[aws] def http(endpoint: Option[URI], connection: ConnectionOptions): HttpBuilder =
      if (negotiates(endpoint, connection))
        Http2Negotiation.builder(
          HttpBuilder(http2(endpoint, connection).protocolNegotiation(ProtocolNegotiation.ALPN)),
          HttpBuilder(http2(endpoint, connection))
        )
      else HttpBuilder(http2(endpoint, connection))

    private def http2(endpoint: Option[URI], connection: ConnectionOptions) =
      common(endpoint, connection, Seq(() => new Http2Tuning))
        .protocol(Protocol.HTTP2)
        .protocolNegotiation(ProtocolNegotiation.ASSUME_PROTOCOL)
        .maxConcurrency(MaxConcurrency)
        .readTimeout(ReadTimeout.toJava)
        .http2Configuration((h: Http2Configuration.Builder) =>
          h.maxStreams(MaxStreams).initialWindowSize(Window).healthCheckPingPeriod(PingPeriod.toJava): Unit
        )

    /** In cleartext nothing can be negotiated. A proxy behind TLS would be asked for HTTP/2 by the SDK, too, and then be spoken to in
      * HTTP/1.1.
      */
    private[aws] def negotiates(endpoint: Option[URI], connection: ConnectionOptions): Boolean =
      usesTls(endpoint) && !connection.proxy.exists(_.address.getScheme == "https")
  }

  /** AWS's own endpoints do. */
  private def usesTls(endpoint: Option[URI]) = endpoint.forall(_.getScheme == "https")

  /** HTTP/1.1 is faster than HTTP/2 for answers of 1 MB. Kinesis takes 5 GetRecords a second per shard, so an executor with hundreds of
    * shards keeps far fewer connections busy than there may be; more wait for one.
    */
  private def oneAnswer(endpoint: Option[URI], connection: ConnectionOptions) =
    common(endpoint, connection).protocol(Protocol.HTTP1_1).maxConcurrency(connection.maxConnections)

  /** @param handlers of each connection */
  private def common(
      endpoint: Option[URI],
      connection: ConnectionOptions,
      handlers: Seq[() => ChannelHandler] = Nil
  ): NettyNioAsyncHttpClient.Builder = {
    val builder = NettyNioAsyncHttpClient.builder()
    val all     = (if (usesTls(endpoint)) Seq(() => new HandshakeWatch) else Nil) ++ handlers
    if (all.nonEmpty) builder.eventLoopGroup(havingHandlers(all))
    connection.caBundle.foreach(file => builder.tlsTrustManagersProvider(CaBundle.load(file)))
    connection.proxy
      .map(proxyOf)
      .orElse(if (usesTls(endpoint)) proxyOfMachine else None)
      .foreach(builder.proxyConfiguration(_))
    builder
      // Many shards begin at once: each waits for a connection, and none is refused.
      .maxPendingConnectionAcquires(100000)
      .connectionAcquisitionTimeout(AcquisitionTimeout.toJava)
      .connectionTimeout(connection.connectTimeout.toJava)
      // Firewalls and NAT drop idle connections.
      .tcpKeepAlive(true)
  }

  /** The JVM's threads for connections that have handlers of ours beside the SDK's. They end with the JVM, as those of the SDK do. */
  private lazy val eventLoops = SdkEventLoopGroup.builder().build().eventLoopGroup

  /** @param handlers nearest to the network first */
  private def havingHandlers(handlers: Seq[() => ChannelHandler]) = SdkEventLoopGroup.create(
    eventLoops,
    () => {
      val channel = new NioSocketChannel
      handlers.foreach(make => channel.pipeline.addLast(make()))
      channel
    }
  )

  private def proxyOf(proxy: ProxyOptions): ProxyConfiguration = {
    val builder = proxyAt(proxy.address.getHost, proxy.address.getPort)
      .scheme(proxy.address.getScheme)
      .nonProxyHosts(proxy.direct.map(patternOf).toSet.asJava)
    proxy.user.foreach(builder.username(_))
    proxy.password.foreach(secret => builder.password(HadoopSettings.valueOf(secret)))
    builder.build()
  }

  /** The machine's proxy for calls over TLS: by `https.proxyHost`, or else by HTTPS_PROXY. The SDK looks these up only where the proxy itself is called
    * over TLS, and else those for cleartext.
    */
  private def proxyOfMachine: Option[ProxyConfiguration] =
    Seq(ProxyConfigProvider.fromSystemPropertySettings("https"), ProxyConfigProvider.fromEnvironmentSettings("https"))
      .find(_.host != null)
      .map { found =>
        val builder = proxyAt(found.host, found.port).nonProxyHosts(found.nonProxyHosts)
        found.userName.ifPresent(builder.username(_): Unit)
        found.password.ifPresent(builder.password(_): Unit)
        builder.build()
      }

  private def proxyAt(host: String, port: Int) = ProxyConfiguration
    .builder()
    .host(host)
    .port(port)
    .useSystemPropertyValues(false)
    .useEnvironmentVariableValues(false)

  /** The SDK matches hosts with regular expressions. */
  private[aws] def patternOf(host: String): String =
    if (host.startsWith("*.")) s"(?i).+${Pattern.quote(host.drop(1))}" else s"(?i)${Pattern.quote(host)}"

  /** What clients of all services have in common beside their HTTP. */
  private[aws] def configure[B <: AwsClientBuilder[B, C], C](
      builder: AwsClientBuilder[B, C],
      endpoint: Option[URI],
      connection: ConnectionOptions
  ): Unit = {
    endpoint.foreach(builder.endpointOverride(_))
    // Left alone where they aren't asked for: the environment may ask for them.
    if (connection.fips) builder.fipsEnabled(true)
    if (connection.dualStack) builder.dualstackEnabled(true)
    ()
  }

  /** The user agent. */
  private[aws] def named(connection: ConnectionOptions): ClientOverrideConfiguration = {
    val builder =
      ClientOverrideConfiguration
        .builder()
        .putAdvancedOption(SdkAdvancedClientOption.USER_AGENT_SUFFIX, "kinesis-spark")
    connection.applicationId.foreach(builder.appId(_))
    builder.build()
  }
}
