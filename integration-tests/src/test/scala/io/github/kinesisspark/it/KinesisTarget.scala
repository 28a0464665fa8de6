package io.github.kinesisspark.it

import scala.concurrent.duration._

import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, AwsCredentialsProvider, StaticCredentialsProvider}
import software.amazon.awssdk.regions.Region

import io.github.kinesisspark.it.KnownDifferences.{Measured, NotRunYet}
import io.github.kinesisspark.it.aws.AwsSettings
import io.github.kinesisspark.testkit.{KinesisServer, KinesisServerConfig, ServiceClock}

/** A Kinesis that the tests can run against. [[Targets]] chooses the ones of a run.
  *
  * Each starts once per JVM, when first used, and ends with the JVM. One that cannot start fails every test that uses it.
  *
  * @param differences how it differs from the service
  */
sealed abstract class KinesisTarget(val name: String, val differences: KnownDifferences) {
  protected def start(): KinesisService

  final lazy val service: KinesisService = KinesisTarget.endedWithJvm(start())

  /** One that enforces the service's limits on rates, if need be apart from the one that other scenarios share. */
  def limited: KinesisService = service

  /** One whose clock a test can move, where there is such a thing. */
  def clocked: Option[ClockedService] = None

  override def toString: String = name
}

object KinesisTarget {

  /** The embedded server in its kind profile, in cleartext. Limits and a clock of their own would slow or upset the other
    * scenarios.
    */
  case object Testkit extends KinesisTarget("testkit", Measured(Set.empty)) {
    // Long enough that a client can see the states in between.
    private val config =
      KinesisServerConfig(createDelay = 300.millis, updateDelay = 300.millis, deleteDelay = 300.millis)

    protected def start(): KinesisService     = embedded(config)
    override lazy val limited: KinesisService =
      endedWithJvm(embedded(config.copy(enforceLimits = true, clock = new SlowClock)))
    override lazy val clocked: Option[ClockedService] = {
      val clock = ServiceClock.shifted()
      Some(ClockedService(endedWithJvm(embedded(config.copy(clock = clock))), by => clock.advance(by)))
    }

    private def embedded(config: KinesisServerConfig): KinesisService = {
      val server = KinesisServer.start(config)
      new KinesisService(Some(server.endpoint), Region.of(server.region), anyone, () => server.close())
    }
  }

  /** The embedded server in its realistic profile, over TLS with HTTP/2 by ALPN. */
  case object RealisticAlpn extends KinesisTarget("realistic-alpn", Measured(Set.empty)) {
    protected def start(): KinesisService = RealisticServer.shared.alpn
  }

  /** The embedded server in its realistic profile, over TLS with HTTP/2 by prior knowledge and under a host name of
    * AWS's, so that clients reach it as they reach the service.
    */
  case object RealisticTls extends KinesisTarget("realistic-tls", Measured(Set.empty)) {
    protected def start(): KinesisService = RealisticServer.shared.priorKnowledge
  }

  /** kinesis-mock, as npm has it. */
  case object KinesisLocal extends KinesisTarget("kinesis-local", Measured(Differences.ofKinesisLocal)) {
    protected def start(): KinesisService = local(name)
  }

  /** LocalStack 4.4.0. All but SubscribeToShard is answered by the kinesis-mock 0.4.9 behind it. */
  case object LocalStack extends KinesisTarget("localstack", Measured(Differences.ofLocalStack)) {
    protected def start(): KinesisService = local(name)
  }

  /** The service, which costs money. Only `make test-aws` can start it, because that keeps to a budget and cleans up. Not run
    * yet.
    */
  case object Aws extends KinesisTarget("aws", NotRunYet(Recordings.refuted)) {
    protected def start(): KinesisService = AwsSettings.ofThisJvm match {
      case Right(settings) => settings.open()
      case Left(missing)   =>
        throw new IllegalStateException(
          s"The target 'aws' creates streams that cost money, so only `make test-aws REGION=...` starts it: $missing"
        )
    }
  }

  val all: Seq[KinesisTarget] = Seq(Testkit, RealisticAlpn, RealisticTls, KinesisLocal, LocalStack, Aws)

  /** Runs at a fifth of the machine's speed: calls that are made at once come within a second of it on a busy machine, too. */
  private final class SlowClock extends ServiceClock {
    private val began         = System.currentTimeMillis()
    override def millis: Long = began + (System.currentTimeMillis() - began) / 5
  }

  /** Keys for servers that take any. */
  private val anyone: AwsCredentialsProvider =
    StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test"))

  private def endedWithJvm(started: KinesisService): KinesisService = {
    sys.addShutdownHook(started.close())
    started
  }

  private def local(name: String): KinesisService = {
    val server = LocalServer.start(name)
    new KinesisService(Some(server.endpoint), Region.US_EAST_1, anyone, () => server.close())
  }
}
