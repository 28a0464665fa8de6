package io.github.kinesisspark.config

import java.net.URI

import scala.concurrent.duration._

/** What a client is made of, whatever it is for: reading, writing, consumers, roles. Equal options, and an equal region, can share one
  * client.
  *
  * @param region   as the user gave it, or in a sink's task as the driver found it; the stream's ARN or the SDK's own chain may have it
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

object ClientOptions extends OptionGroup(OptionScope.Both, perStream = true) {

  val region: Opt[Option[String]] = optional(
    "region",
    OptionValue.region,
    doc =
      "The region of a stream that is given by name; an ARN names its own. Left out, it is what the AWS SDK finds: the system property " +
        "`aws.region`, the environment variable `AWS_REGION`, the profile, the instance."
  )

  val endpoint: Opt[Option[URI]] = optional(
    "endpoint",
    OptionValue.endpoint,
    doc =
      "The address of the service instead of the region's own: a VPC endpoint or a local server. Left out, the driver's AWS_ENDPOINT_URL_KINESIS, " +
        "AWS_ENDPOINT_URL or the profile may name it."
  )
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
    connectTimeout: FiniteDuration = ConnectionOptions.connectTimeout.absent,
    readTimeout: Option[FiniteDuration] = None,
    maxConnections: Int = ConnectionOptions.maxConnections.absent,
    applicationId: Option[String] = None,
    sts: StsOptions = StsOptions(None, None),
    retries: CallRetries = CallRetries.default
)

object ConnectionOptions extends OptionGroup(OptionScope.Both) {

  /** The `readTimeout` of calls that change nothing, where it is left out. An answer of 10 MB that stops for so long is dead. */
  val Silence: FiniteDuration = 30.seconds

  val fips: Opt[Boolean] = option(
    "fips",
    OptionValue.boolean,
    default = "false",
    doc = "Whether endpoints with cryptography by FIPS 140 are called. Not with `endpoint`."
  )

  val dualStack: Opt[Boolean] = option(
    "dualStack",
    OptionValue.boolean,
    default = "false",
    doc = "Whether endpoints for IPv4 and IPv6 are called. Not with `endpoint`."
  )

  val caBundle: Opt[Option[String]] = optional(
    "caBundle",
    OptionValue.text,
    doc =
      "A PEM file, on the driver and all executors, with the certificates of the authorities that are trusted, in place of the JVM's."
  )

  val connectTimeout: Opt[FiniteDuration] = option(
    "connectTimeout",
    OptionValue.durationAtLeast(100.millis),
    default = "10s",
    doc = "How long making a connection may take."
  )

  val readTimeout: Opt[Option[FiniteDuration]] = optional(
    "readTimeout",
    OptionValue.durationAtLeast(1.second),
    doc =
      "How long a call may be without a byte of its answer; left out, 30 seconds, and 60 for PutRecords, which may store its records twice " +
        "when it is given up. A whole call may take a minute, or `connectTimeout` and this together where that is longer, and PutRecords five " +
        "minutes. Subscriptions have their own."
  )

  val maxConnections: Opt[Int] = option(
    "maxConnections",
    OptionValue.smallCount,
    default = "512",
    doc =
      "How many calls of one client, shared by all tasks of an executor, may be under way at once; others wait. Subscriptions don't count."
  )

  val applicationId: Opt[Option[String]] = optional(
    "applicationId",
    OptionValue.matching("[A-Za-z0-9!$%&*+.^_`|~'-]{1,50}", "1 to 50 letters, digits and characters of !$%&*+-.^_`|~'"),
    doc = "A name of the application in the user agent of all calls, which CloudTrail shows."
  )

  /** Where no option is given. */
  lazy val Default: ConnectionOptions = ConnectionOptions()

  private[config] def read(view: OptionView, retries: CallRetries): ConnectionOptions = ConnectionOptions(
    view(fips),
    view(dualStack),
    view(caBundle),
    ProxyOptions.read(view),
    view(connectTimeout),
    view(readTimeout),
    view(maxConnections),
    view(applicationId),
    StsOptions.read(view),
    retries
  )
}

/** @param address of scheme, host and port
  * @param direct  hosts that are reached without it: names, or `*.` and the end of a name
  */
final case class ProxyOptions(address: URI, user: Option[String], password: Option[Secret], direct: Seq[String])

object ProxyOptions extends OptionGroup(OptionScope.Both) {

  val proxy: Opt[Option[URI]] = optional(
    "proxy",
    OptionValue.endpoint,
    doc =
      "The HTTP proxy that all calls go through, such as `http://proxy.example.com:3128`. Left out, it is what `https.proxyHost` and its " +
        "like, or HTTPS_PROXY and its like, say."
  )

  val proxyUser: Opt[Option[String]] = optional(
    "proxyUser",
    OptionValue.text,
    doc = "The user that the proxy asks for."
  )

  val proxyPassword: Opt[Option[Secret]] = optional(
    "proxyPassword",
    OptionValue.secret,
    doc = "The password of `proxyUser`, which may be `alias:<name>` as the keys may."
  )

  val noProxy: Opt[Option[Seq[String]]] = optional(
    "noProxy",
    OptionValue.list(OptionValue.host, identity[String]),
    doc =
      "Hosts that are called without `proxy`, comma-separated: names, or `*.` with the end of a name. Calls that name a stream by its ARN go " +
        "to a host of its account, such as `111122223333.data-kinesis.eu-west-1.amazonaws.com`."
  )

  /** None where no proxy is given. */
  private[config] def read(view: OptionView): Option[ProxyOptions] = {
    for (option <- Seq[Opt[?]](proxyUser, proxyPassword, noProxy) if view.has(option) && !view.has(proxy))
      view.report(s"'${view.key(option)}' is given without '${proxy.name}'. Give the proxy, too.")
    if (view.has(proxyUser) != view.has(proxyPassword))
      view.report(s"'${proxyUser.name}' and '${proxyPassword.name}' belong together. Give both.")
    val (user, password, direct) = (view(proxyUser), view(proxyPassword), view(noProxy).getOrElse(Nil))
    val read                     = view(proxy).map(ProxyOptions(_, user, password, direct))
    for (through <- read if through.address.getPort < 0)
      view.report(s"'${view.key(proxy)}' lacks the port: ${through.address}.")
    read
  }
}

/** Where roles are asked for.
  *
  * @param region   left out, the stream's, or for a profile's role the profile's, if it has one
  * @param endpoint instead of the region's own
  */
final case class StsOptions(region: Option[String], endpoint: Option[URI])

object StsOptions extends OptionGroup(OptionScope.Both) {

  val stsRegion: Opt[Option[String]] = optional(
    "stsRegion",
    OptionValue.region,
    doc =
      "The region whose STS is asked for roles: `roleArn`, or a profile's. Left out, a `roleArn` is asked for in the stream's region, a profile's role " +
        "in the profile's, or else the stream's."
  )

  val stsEndpoint: Opt[Option[URI]] = optional(
    "stsEndpoint",
    OptionValue.endpoint,
    doc = "The address of STS, for the same roles, instead of the region's own: a VPC endpoint or a local server."
  )

  private[config] def read(view: OptionView): StsOptions = StsOptions(view(stsRegion), view(stsEndpoint))
}

/** Whose permissions the calls use. */
sealed trait CredentialsOptions extends Product with Serializable

object CredentialsOptions extends OptionGroup(OptionScope.Both, perStream = true) {

  val profile: Opt[Option[String]] = optional(
    "profile",
    OptionValue.text,
    doc =
      "A profile of the shared AWS configuration files, which must be on the driver and all executors. One of SSO or `aws login` needs " +
        "the login's files there, too."
  )

  val accessKeyId: Opt[Option[Secret]] = optional(
    "accessKeyId",
    OptionValue.secret,
    doc =
      "Static credentials, together with `secretAccessKey`. A role or a profile is safer. Each of the keys may be `alias:<name>`: it is then " +
        "what Hadoop's credential providers (`hadoop.security.credential.provider.path`) have under that name.",
    aliases = Seq("awsAccessKey")
  )

  val secretAccessKey: Opt[Option[Secret]] = optional(
    "secretAccessKey",
    OptionValue.secret,
    doc = "Static credentials, together with `accessKeyId`.",
    aliases = Seq("awsSecretKey")
  )

  val sessionToken: Opt[Option[Secret]] = optional(
    "sessionToken",
    OptionValue.secret,
    doc =
      "The session token of temporary static credentials. They aren't refreshed: for a query that outlives them, use " +
        "`roleArn`, `profile` or `credentialsProvider`."
  )

  val credentialsProvider: Opt[Option[String]] = optional(
    "credentialsProvider",
    OptionValue.matching(
      """[\p{javaJavaIdentifierStart}][\p{javaJavaIdentifierPart}.]*""",
      "the full name of a class such as com.example.MyCredentials",
      kind = "class"
    ),
    doc = "A class of your own that gives credentials: an `AwsCredentialsProvider` of the AWS SDK for Java 2, or an " +
      "`AWSCredentialsProvider` of version 1, with a static method `create()` or a constructor: without arguments, of Hadoop's `Configuration`, of a " +
      "`URI` (the endpoint, or null) and that, or of a `Map` of its parameters. It must be on the class path of the driver and the executors. It is asked once a second at most, on a thread of its own, and its " +
      "credentials are used for a minute at most."
  )

  val providerParameter: Opt[Option[Secret]] = optional(
    "credentialsProvider.<parameter>",
    OptionValue.secret,
    doc =
      "A parameter of that class, which then needs a static method `create` or a constructor that takes a `java.util.Map` of them, or a " +
        "`Configuration` and such a map. Their names may come in lower case. Put `secret`, `password` or `token` into the names of secret ones: Spark's plans " +
        "show others."
  )

  val webIdentityTokenFile: Opt[Option[String]] = optional(
    "webIdentityTokenFile",
    OptionValue.text,
    doc =
      "A file with the token of an identity provider, on the driver and all executors, which `roleArn` (or the first of `roleChain`) is " +
        "assumed with. The default chain finds what the environment names (AWS_WEB_IDENTITY_TOKEN_FILE) by itself."
  )

  val roleArn: Opt[Option[String]] = optional(
    "roleArn",
    OptionValue.roleArn,
    doc = "A role to assume with the credentials that the other options (or the default chain) give, for a stream of " +
      "another account, for example. Its credentials are refreshed."
  )

  val roleChain: Opt[Option[Seq[ChainedRole]]] = optional(
    "roleChain",
    OptionValue.list[ChainedRole](OptionValue.chainedRole(_).left.map(form => s"must be $form"), _.arn),
    doc =
      "Roles to assume before `roleArn`, comma-separated, each with the credentials of the one before. The external ID that a role's " +
        "trust policy asks for follows its ARN after a space. A general chain is ignored for a stream without a `roleArn`."
  )

  val externalId: Opt[Option[String]] = optional(
    "externalId",
    OptionValue.externalId,
    doc = "The external ID that the role's trust policy asks for. Those of a `roleChain` stand there.",
    aliases = Seq("roleExternalId")
  )

  val roleSessionName: Opt[String] = option(
    "roleSessionName",
    OptionValue.matching("[\\w+=,.@-]{2,64}", "2 to 64 letters, digits and characters of _+=,.@-"),
    default = RoleSession.DefaultName,
    doc = "The name of the role's session, which CloudTrail shows."
  )

  val roleDuration: Opt[Option[FiniteDuration]] = optional(
    "roleDuration",
    OptionValue.durationBetween(15.minutes, 12.hours),
    doc =
      "How long the role's credentials live: 15 minutes to 12 hours, and no longer than the role allows. The default is one hour, which is also the " +
        "most after a `roleChain`. They are renewed in time."
  )

  val roleTags: Opt[Option[Map[String, String]]] = optional(
    "roleTags",
    OptionValue.tags(50),
    doc = "Tags of the role's session, such as `team=data,env=prod`. Needs the permission `sts:TagSession`."
  )

  val roleSourceIdentity: Opt[Option[String]] = optional(
    "roleSourceIdentity",
    OptionValue.matching("[\\w+=,.@-]{2,64}", "2 to 64 letters, digits and characters of _+=,.@-"),
    doc =
      "The source identity of the role's session, which CloudTrail shows and which stays over a `roleChain`. Needs the permission " +
        "`sts:SetSourceIdentity`."
  )

  /** The SDK's chain: system properties, environment, web identity, profile, container, instance. */
  case object DefaultChain extends CredentialsOptions

  /** A profile of the shared AWS files on driver and executors. */
  final case class Profile(name: String) extends CredentialsOptions

  /** Each may be the name of an alias; see [[SecretAlias]]. */
  final case class StaticKeys(accessKeyId: Secret, secretAccessKey: Secret, sessionToken: Option[Secret])
      extends CredentialsOptions

  /** A class of the user's own; see [[credentialsProvider]]. */
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
  val DefaultName: String = "kinesis-spark"

  val Plain: RoleSession = RoleSession(None, Map.empty, None)
}

/** A secret that Hadoop's credential providers keep under a name. No key and no token of AWS's has a colon. */
object SecretAlias {
  private val Prefix = "alias:"

  def unapply(secret: Secret): Option[String] =
    if (secret.reveal.startsWith(Prefix)) Some(secret.reveal.stripPrefix(Prefix)) else None
}
