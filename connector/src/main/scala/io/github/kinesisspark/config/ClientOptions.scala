package io.github.kinesisspark.config

import java.net.URI

import scala.concurrent.duration._

/** What a client is made of, whatever it is for: reading, writing, consumers, roles. Equal options, and an equal region, can share one
  * client.
  *
  * @param region   as the user gave it; otherwise the stream's ARN or the SDK's own chain may have it
  * @param endpoint instead of the region's own
  */
final case class ClientOptions(
    region: Option[String],
    endpoint: Option[URI],
    credentials: CredentialsOptions,
    connection: ConnectionOptions = ConnectionOptions.Default
) {
  def retries: CallRetries = connection.retries
}

/** How connections to AWS are made, and calls repeated.
  *
  * @param caBundle       a file of certificates that are trusted in place of the JVM's
  * @param proxy          left out, what system properties and environment say
  * @param readTimeout    without a byte of an answer; left out, as fits the calls
  * @param maxConnections requests under way at once, except subscriptions
  * @param applicationId  of the user agent
  */
final case class ConnectionOptions(
    fips: Boolean = false,
    dualStack: Boolean = false,
    caBundle: Option[String] = None,
    proxy: Option[ProxyOptions] = None,
    connectTimeout: FiniteDuration = 10.seconds,
    readTimeout: Option[FiniteDuration] = None,
    maxConnections: Int = 512,
    applicationId: Option[String] = None,
    sts: StsOptions = StsOptions(None, None),
    retries: CallRetries = CallRetries.default
)

object ConnectionOptions {
  val Default: ConnectionOptions = ConnectionOptions()
}

/** @param address of scheme, host and port
  * @param direct  hosts that are reached without it: names, or `*.` and the end of a name
  */
final case class ProxyOptions(address: URI, user: Option[String], password: Option[Secret], direct: Seq[String])

/** Where roles are asked for.
  *
  * @param region   left out, the stream's
  * @param endpoint instead of the region's own
  */
final case class StsOptions(region: Option[String], endpoint: Option[URI])

/** Whose permissions the calls use. */
sealed trait CredentialsOptions extends Product with Serializable

object CredentialsOptions {

  /** The SDK's chain: system properties, environment, web identity, profile, container, instance. */
  case object DefaultChain extends CredentialsOptions

  /** A profile of the shared AWS files on driver and executors. */
  final case class Profile(name: String) extends CredentialsOptions

  /** Each may be the name of an alias; see [[SecretAlias]]. */
  final case class StaticKeys(accessKeyId: Secret, secretAccessKey: Secret, sessionToken: Option[Secret])
      extends CredentialsOptions

  /** A class of the user's own; see [[OptionRegistry.credentialsProvider]]. */
  final case class ProviderClass(className: String, parameters: Map[String, Secret] = Map.empty)
      extends CredentialsOptions

  /** The token of an identity provider, in a file that is renewed by others. It is good for a role alone. */
  final case class WebIdentity(tokenFile: String) extends CredentialsOptions

  /** @param base whose permissions ask for the role; may itself be a role */
  final case class AssumeRole(
      base: CredentialsOptions,
      roleArn: String,
      externalId: Option[String],
      sessionName: String,
      session: RoleSession = RoleSession.Plain
  ) extends CredentialsOptions
}

/** A role that is assumed on the way to another.
  *
  * @param externalId that its trust policy asks for
  */
final case class ChainedRole(arn: String, externalId: Option[String])

/** What a role's session has besides its name.
  *
  * @param duration left out, an hour
  */
final case class RoleSession(
    duration: Option[FiniteDuration],
    tags: Map[String, String],
    sourceIdentity: Option[String]
)

object RoleSession {
  val Plain: RoleSession = RoleSession(None, Map.empty, None)
}

/** A secret that Hadoop's credential providers keep under a name. No key and no token of AWS's has a colon. */
object SecretAlias {
  private val Prefix = "alias:"

  def unapply(secret: Secret): Option[String] =
    if (secret.reveal.startsWith(Prefix)) Some(secret.reveal.stripPrefix(Prefix)) else None
}
