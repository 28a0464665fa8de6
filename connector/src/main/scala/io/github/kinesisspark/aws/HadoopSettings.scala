package io.github.kinesisspark.aws

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkEnv

import io.github.kinesisspark.config.{Secret, SecretAlias}

/** Hadoop's settings as this JVM's Spark has them. */
private[aws] object HadoopSettings {
  private val Prefix = "spark.hadoop."

  def configuration(): Configuration = {
    val settings = new Configuration
    for (spark <- Option(SparkEnv.get); (name, value) <- spark.conf.getAll if name.startsWith(Prefix))
      settings.set(name.stripPrefix(Prefix), value)
    settings
  }

  /** @throws KinesisException `KINESIS_CREDENTIALS_ALIAS` where it is an alias that can't be looked up */
  def valueOf(secret: Secret): String = secret match {
    case SecretAlias(name) => this.secret(name, configuration())
    case plain             => plain.reveal
  }

  /** What the credential providers of `hadoop.security.credential.provider.path` keep under this name.
    *
    * @throws KinesisException `KINESIS_CREDENTIALS_ALIAS`
    */
  private[aws] def secret(alias: String, settings: Configuration): String = {
    val found =
      try Option(settings.getPassword(alias))
      catch { case e: IOException => fail(alias, s"reading it failed: $e", e) }
    found.fold[String](fail(alias, "there is none of that name"))(new String(_))
  }

  private def fail(alias: String, why: String, cause: Throwable = null): Nothing =
    throw new KinesisException(
      "KINESIS_CREDENTIALS_ALIAS",
      s"Credential alias '$alias': $why. Check hadoop.security.credential.provider.path on the driver and the executors.",
      cause
    )
}
