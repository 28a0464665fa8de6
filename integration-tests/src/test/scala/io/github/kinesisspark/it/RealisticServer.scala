package io.github.kinesisspark.it

import java.net.{InetAddress, URI, UnknownHostException}
import java.nio.file.{Files, Path}

import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, StaticCredentialsProvider}
import software.amazon.awssdk.regions.Region

import io.github.kinesisspark.testkit._

/** One embedded server in the realistic profile, in TLS with ALPN and without, which takes only calls that its account has
  * signed.
  *
  * Clients of this JVM trust its certificate because `javax.net.ssl.trustStore` names a file with it, so it must start
  * before the first TLS connection. Nothing is ever trusted without verification.
  */
final class RealisticServer private (
    val server: KinesisServer,
    val trustStore: Path,
    val accessKey: AwsBasicCredentials
) extends AutoCloseable {
  import RealisticServer._

  /** HTTP/2 by ALPN. */
  def alpn: KinesisService = service(server.tlsEndpoint.get)

  /** HTTP/2 by prior knowledge, at a name of AWS's. */
  def priorKnowledge: KinesisService = {
    requireOwnName()
    service(awsLikeEndpoint)
  }

  /** The same under [[HostName]], which a JVM knows only with [[HostsFile]]. */
  def awsLikeEndpoint: URI = URI.create(s"https://$HostName:${server.priorKnowledgeTlsEndpoint.get.getPort}")

  private def service(endpoint: URI) = new KinesisService(
    Some(endpoint),
    Region.of(server.region),
    StaticCredentialsProvider.create(accessKey),
    () => (),
    Patience.limited
  )

  override def close(): Unit = server.close()
}

object RealisticServer {

  /** A name as an interface endpoint of AWS's has.
    *
    * @see [[https://docs.aws.amazon.com/streams/latest/dev/vpc.html Kinesis with interface VPC endpoints]]
    */
  val HostName = "vpce-1-test.kinesis.us-east-1.vpce.amazonaws.com"

  /** The JVM's property for a file of host names. With it the JVM resolves no other names, so nothing leaves the machine. */
  val HostsFile = "jdk.net.hosts.file"

  val TrustStorePassword = "testkit"

  /** The one of this JVM, which ends with it. */
  lazy val shared: RealisticServer = {
    val started = start()
    System.setProperty("javax.net.ssl.trustStore", started.trustStore.toString)
    System.setProperty("javax.net.ssl.trustStorePassword", TrustStorePassword)
    sys.addShutdownHook(started.close())
    started
  }

  private val accountId = "111122223333"

  private def start(): RealisticServer = {
    val key    = AccessKey("AKIAREALISTICSERVER1", "realistic/Secret+Access+Key/00000000001")
    val server = KinesisServer.start(
      KinesisServerConfig.realistic.copy(
        tlsPort = Some(0),
        tls = TlsSettings(priorKnowledgePort = Some(0), hostNames = Seq(HostName)),
        accountId = accountId,
        accounts = Seq(Account.of(accountId, key)),
        requireSignature = true
      )
    )
    val trustStore = Files.createTempFile("realistic-", ".p12")
    trustStore.toFile.deleteOnExit()
    server.writeTrustStore(trustStore, TrustStorePassword)
    new RealisticServer(server, trustStore, AwsBasicCredentials.create(key.id, key.secret))
  }

  private def requireOwnName(): Unit = {
    val address =
      try InetAddress.getByName(HostName)
      catch {
        case e: UnknownHostException =>
          throw new IllegalStateException(
            s"$HostName does not resolve: start this JVM with -D$HostsFile=<file> that maps it to 127.0.0.1, as build.sbt does",
            e
          )
      }
    require(address.isLoopbackAddress, s"$HostName resolves to ${address.getHostAddress}, not to this machine")
  }
}
