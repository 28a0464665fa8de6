package io.github.kinesisspark.testkit

import io.github.kinesisspark.testkit.auth.{Authentication, Authorization, RoleSessions}
import io.github.kinesisspark.testkit.http.{
  AdminHandler,
  HttpServer,
  KinesisHandler,
  LoginHandler,
  ServerKeys,
  StsHandler
}

import java.net.URI
import java.nio.file.Path
import java.security.cert.Certificate

/** An embedded Kinesis Data Streams: the service's protocol and semantics over real HTTP, with a clock that can be driven
  * and faults that can be planned.
  * {{{
  * val server = KinesisServer.start()
  * server.streams.createStream("events", shards = 4)
  * server.streams.put("events", "key", "data")
  * // ... clients at server.endpoint, with any credentials ...
  * server.close()
  * }}}
  */
final class KinesisServer private (config: KinesisServerConfig) extends AutoCloseable {

  /** The fault plan; empty at first. */
  val faults: FaultPlan = new FaultPlan

  /** What was asked of this server. */
  val calls: CallLog = new CallLog(config.recentCalls)

  /** The subscriptions of SubscribeToShard. */
  val subscriptions: Subscriptions = new Subscriptions(config, faults)

  private val accounts = new AccountStreams(config, subscriptions.time)

  /** The streams of the server's own account, without HTTP. */
  val streams: Streams = accounts.own

  /** The streams of an account, without HTTP. */
  def streamsOf(accountId: String): Streams =
    accounts.of(accountId).getOrElse(sys.error(s"The server has no account $accountId"))

  /** The access keys of the accounts that the server was started with. */
  val accessKeys: AccessKeys = new AccessKeys(config)

  private val authentication = new Authentication(config, accessKeys)
  private val roleSessions   = new RoleSessions(config, accessKeys)

  private val http = new HttpServer(
    config,
    Seq(
      new AdminHandler(config.clock, faults, calls, subscriptions),
      new StsHandler(config, authentication, roleSessions, calls),
      new LoginHandler(config, roleSessions, calls),
      new KinesisHandler(
        config,
        streams,
        subscriptions,
        authentication,
        new Authorization(config, accounts),
        faults,
        calls
      )
    )
  )

  /** Where cleartext clients connect, with HTTP/1.1 or HTTP/2 with prior knowledge. */
  def endpoint: URI = http.endpoint

  /** Where TLS clients connect that use ALPN or HTTP/1.1, if the server was started with a TLS port. */
  def tlsEndpoint: Option[URI] = http.tlsEndpoint

  /** Where TLS clients connect that use no ALPN, with HTTP/1.1 or HTTP/2 with prior knowledge, if the server was started
    * with such a port.
    */
  def priorKnowledgeTlsEndpoint: Option[URI] = http.priorKnowledgeTlsEndpoint

  /** What a TLS client that verifies has to trust. The self-signed certificate names `localhost`, 127.0.0.1 and the hosts
    * of [[TlsSettings.hostNames]].
    */
  def tlsCertificate: Option[Certificate] = http.tlsCertificate

  /** Writes [[tlsCertificate]] as PEM. */
  def writeCertificate(file: Path): Unit = ServerKeys.writePem(servedCertificate, file)

  /** Writes a PKCS12 trust store with [[tlsCertificate]], as `javax.net.ssl.trustStore` takes it. */
  def writeTrustStore(file: Path, password: String): Unit =
    ServerKeys.writeTrustStore(servedCertificate, file, password)

  private def servedCertificate: Certificate =
    tlsCertificate.getOrElse(throw new IllegalStateException("The server has no TLS port and so no certificate."))

  def clock: ServiceClock = config.clock
  def region: String      = config.region

  override def close(): Unit = { http.close(); subscriptions.close() }
}

object KinesisServer {

  /** Starts a server; it listens when this returns. */
  def start(config: KinesisServerConfig = KinesisServerConfig()): KinesisServer = new KinesisServer(config)
}
