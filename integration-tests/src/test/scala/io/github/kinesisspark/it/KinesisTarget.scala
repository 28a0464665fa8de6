package io.github.kinesisspark.it

import software.amazon.awssdk.auth.credentials.{
  AwsBasicCredentials,
  AwsCredentialsProvider,
  DefaultCredentialsProvider,
  StaticCredentialsProvider
}
import software.amazon.awssdk.regions.Region

/** A Kinesis that the tests can run against, and which of them a run is about.
  *
  * `KINESIS_TARGETS` (system property or environment variable, a comma list of names) chooses; a target that is asked for
  * and cannot start fails the run. Each starts once per JVM, when first used, and ends with the JVM.
  *
  * @param differences what it does otherwise than the service
  */
sealed abstract class KinesisTarget(val name: String, val differences: Set[Difference]) {
  protected def start(): KinesisService

  final lazy val service: KinesisService = {
    val started = start()
    sys.addShutdownHook(started.close())
    started
  }

  override def toString: String = name
}

object KinesisTarget {

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

  val all: Seq[KinesisTarget] = Seq(KinesisLocal, LocalStack, Aws)

  private val Default = "testkit,kinesis-local"

  /** The targets of this run, in the order asked for. */
  def selected: Seq[KinesisTarget] = parse(setting("KINESIS_TARGETS").getOrElse(Default))

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

  private def local(name: String): KinesisService = {
    val server = LocalServer.start(name)
    new KinesisService(Some(server.endpoint), Region.US_EAST_1, anyone, () => server.close())
  }
}
