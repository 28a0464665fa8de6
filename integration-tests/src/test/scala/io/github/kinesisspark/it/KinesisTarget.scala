package io.github.kinesisspark.it

import scala.concurrent.duration._

import software.amazon.awssdk.auth.credentials.{
  AwsBasicCredentials,
  AwsCredentialsProvider,
  DefaultCredentialsProvider,
  StaticCredentialsProvider
}
import software.amazon.awssdk.regions.Region

import io.github.kinesisspark.testkit.{KinesisServer, KinesisServerConfig, ServiceClock}

/** A Kinesis that the tests can run against, and which of them a run is about.
  *
  * `KINESIS_TARGETS` (system property or environment variable, a comma list of names) chooses; a target that is asked for
  * and cannot start fails the run. Each starts once per JVM, when first used, and ends with the JVM.
  *
  * @param differences what it does otherwise than the service
  */
sealed abstract class KinesisTarget(val name: String, val differences: Set[Difference]) {
  protected def start(): KinesisService

  final lazy val service: KinesisService = KinesisTarget.endedWithJvm(start())

  /** One that enforces the service's limits on rates, if need be apart from the one that other scenarios share. */
  def limited: KinesisService = service

  /** One whose clock a test can move, where there is such a thing. */
  def clocked: Option[ClockedService] = None

  override def toString: String = name
}

object KinesisTarget {

  /** This project's own embedded server. Limits and a clock of their own would slow or upset the other scenarios. */
  case object Testkit extends KinesisTarget("testkit", Set.empty) {
    // Long enough that a client can see the states in between.
    private val config =
      KinesisServerConfig(createDelay = 300.millis, updateDelay = 300.millis, deleteDelay = 300.millis)

    protected def start(): KinesisService             = embedded(config)
    override lazy val limited: KinesisService         = endedWithJvm(embedded(config.copy(enforceLimits = true)))
    override lazy val clocked: Option[ClockedService] = {
      val clock = ServiceClock.shifted()
      Some(ClockedService(endedWithJvm(embedded(config.copy(clock = clock))), by => clock.advance(by)))
    }

    private def embedded(config: KinesisServerConfig): KinesisService = {
      val server = KinesisServer.start(config)
      new KinesisService(Some(server.endpoint), Region.of(server.region), anyone, () => server.close())
    }
  }

  /** kinesis-mock, as npm has it. */
  case object KinesisLocal extends KinesisTarget("kinesis-local", Differences.ofKinesisLocal) {
    protected def start(): KinesisService = local(name)
  }

  /** LocalStack 4.4.0. All but SubscribeToShard is answered by the kinesis-mock 0.4.9 behind it. */
  case object LocalStack extends KinesisTarget("localstack", Differences.ofLocalStack) {
    protected def start(): KinesisService = local(name)
  }

  /** The service. It costs money and needs an account, so it takes a variable of its own as well. */
  case object Aws extends KinesisTarget("aws", Set.empty) {
    protected def start(): KinesisService = {
      val region = setting("AWS_REGION").filter(_ => setting("KINESIS_SPARK_AWS_TESTS").contains("1")).getOrElse {
        throw new IllegalStateException(
          "The target 'aws' creates streams that cost money: set KINESIS_SPARK_AWS_TESTS=1 and AWS_REGION to allow it"
        )
      }
      new KinesisService(None, Region.of(region), DefaultCredentialsProvider.builder().build(), () => ())
    }
  }

  val all: Seq[KinesisTarget] = Seq(Testkit, KinesisLocal, LocalStack, Aws)

  private val Setting     = "KINESIS_TARGETS"
  private[it] val Default = "testkit,kinesis-local"

  /** The targets of this run, in the order asked for. */
  def selected: Seq[KinesisTarget] = parse(setting(Setting).getOrElse(Default))

  /** Those that the source is tried on: the selected ones, and where the run names none also LocalStack, if it can run on
    * this machine; what keeps it from that stands on the left.
    */
  def selectedForSource: (Option[String], Seq[KinesisTarget]) =
    if (setting(Setting).isDefined) (None, selected)
    else
      LocalServer.obstacle(LocalStack.name) match {
        case None     => (None, selected :+ LocalStack)
        case obstacle => (obstacle, selected)
      }

  private[it] def parse(names: String): Seq[KinesisTarget] = {
    val asked = names.split(',').map(_.trim).filter(_.nonEmpty).toSeq.distinct
    require(asked.nonEmpty, "KINESIS_TARGETS names no target, so no test would run")
    asked.map { name =>
      all.find(_.name == name).getOrElse {
        throw new IllegalArgumentException(
          s"KINESIS_TARGETS names '$name'; there are ${all.map(_.name).mkString(", ")}"
        )
      }
    }
  }

  private def setting(name: String): Option[String] = sys.props.get(name).orElse(sys.env.get(name)).filter(_.nonEmpty)

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
