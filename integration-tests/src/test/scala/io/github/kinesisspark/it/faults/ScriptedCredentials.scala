package io.github.kinesisspark.it.faults

import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, AwsCredentials, AwsCredentialsProvider}

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
