package io.github.kinesisspark.it.faults

import scala.concurrent.duration._

import org.apache.spark.sql.DataFrame
import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, AwsCredentials, AwsCredentialsProvider}

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.TestkitSuite
import io.github.kinesisspark.testkit.{KinesisServerConfig, SubscriptionSettings}

/** A provider of the user's, by the option `credentialsProvider`, which does what a test says before it gives its keys. */
final class ScriptedCredentials extends AwsCredentialsProvider {
  override def resolveCredentials(): AwsCredentials = {
    ScriptedCredentials.before()
    AwsBasicCredentials.create("test", "test")
  }
}

object ScriptedCredentials {
  @volatile private var before: () => Unit = () => ()

  val className: String = classOf[ScriptedCredentials].getName

  /** Runs `body` while each call of a provider runs `script` first. */
  def during[A](script: => Unit)(body: => A): A = {
    before = () => script
    try body
    finally before = () => ()
  }
}

/** Queries whose credentials come from a provider of the test's.
  *
  * @param life of subscriptions: short, so that they ask for credentials often
  */
abstract class ScriptedCredentialsSuite(title: String, life: FiniteDuration = 3.seconds)
    extends TestkitSuite(
      KinesisServerConfig(subscriptions =
        SubscriptionSettings(life = life, heartbeat = 500.millis, takeoverAfter = 1.second)
      )
    ) {
  override def suiteName: String = s"$title by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  protected def loadWithProvider(stream: TestStream): DataFrame = spark.readStream
    .format("kinesis")
    .options(options(stream) -- Seq("accessKeyId", "secretAccessKey"))
    .option("credentialsProvider", ScriptedCredentials.className)
    .option("startingPosition", "TRIM_HORIZON")
    .options(mode.options)
    .load()
}
