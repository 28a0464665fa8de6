package io.github.kinesisspark.aws

import java.net.URI

import io.github.kinesisspark.config.{ConnectionOptions, CredentialsOptions, RoleSession}
import io.github.kinesisspark.config.CredentialsOptions._
import io.github.kinesisspark.runtime.Closing
import software.amazon.awssdk.auth.credentials._
import software.amazon.awssdk.core.SdkSystemSetting
import software.amazon.awssdk.core.SdkSystemSetting._
import software.amazon.awssdk.profiles.ProfileFile

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

/** Makes the credentials provider that the options ask for. [[CredentialsCache]] calls it. */
private[aws] object Credentials {

  /** A provider that closes what it holds open. */
  type Provider = AwsCredentialsProvider & AutoCloseable

  /** Calls no service: a wrong role or missing keys show at the first call. The constructor of a class of the user's may take any time.
    *
    * @param region     whose STS is asked for roles, unless the connection's options name another
    * @param connection how STS is reached
    * @param endpoint   of Kinesis, for classes of the user's that ask for it
    * @throws KinesisException `KINESIS_CREDENTIALS_PROVIDER`, `KINESIS_CA_BUNDLE`
    */
  def apply(
      options: CredentialsOptions,
      region: String,
      connection: ConnectionOptions = ConnectionOptions.Default,
      endpoint: Option[URI] = None
  ): Provider = options match {
    case DefaultChain                    => environmentsRole(region, connection).getOrElse(chain(region, connection))
    case Profile(name)                   => new ProfileCredentials(Some(name), region, connection)
    case keys: StaticKeys                => ofKeys(keys)
    case ProviderClass(name, parameters) =>
      UserCredentials(name, parameters.map { case (key, value) => key -> value.reveal }, endpoint)
    case WebIdentity(_)                                          => anonymous
    case AssumeRole(base, role, externalId, session, properties) =>
      val caller = Credentials(base, region, connection, endpoint)
      val asked  = base match {
        case WebIdentity(file) => RoleCredentials.OfWebIdentity(role, session, file, properties.duration)
        case _                 => RoleCredentials.OfRole(role, session, externalId, properties)
      }
      Closing.unlessMade(caller.close()) {
        val sts  = RoleCredentials.sts(region, connection, caller)
        val made = Regions.profileOf(base).fold(sts)(sts.withProfile(ProfileFile.defaultProfileFile(), _))
        RoleCredentials(asked, made, caller)
      }
  }

  /** What the credentials are, for errors. */
  def describe(options: CredentialsOptions): String = options match {
    case DefaultChain                    => "the default credentials chain"
    case Profile(name)                   => s"profile '$name'"
    case _: StaticKeys                   => "the access keys"
    case ProviderClass(name, _)          => s"credentialsProvider $name"
    case WebIdentity(file)               => s"the web identity of $file"
    case AssumeRole(base, role, _, _, _) => s"role $role, assumed with ${describe(base)}"
  }

  /** The SDK's default chain, except that profiles of a login or a role get their credentials through this connection. A chain takes the next provider
    * where one fails, and stays with the first that gives keys: the machine's role must not be among them where the environment names another source.
    */
  private def chain(region: String, connection: ConnectionOptions): Provider = AwsCredentialsProviderChain
    .builder()
    .reuseLastProviderEnabled(true)
    .credentialsProviders(
      (Seq[AwsCredentialsProvider](
        SystemPropertyCredentialsProvider.create(),
        EnvironmentVariableCredentialsProvider.create(),
        new ProfileCredentials(None, region, connection),
        ContainerCredentialsProvider.create()
      ) ++ Option.unless(isInContainer)(InstanceProfileCredentialsProvider.create())).asJava
    )
    .build()

  /** As in tasks of ECS, and in pods of EKS with Pod Identity. */
  private def isInContainer =
    Seq(AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, AWS_CONTAINER_CREDENTIALS_FULL_URI).exists(valueOf(_).isDefined)

  /** The role that AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE name, as in pods of EKS. Access keys come before it, as in the SDK's chain. */
  private def environmentsRole(region: String, connection: ConnectionOptions): Option[Provider] =
    for {
      role <- valueOf(AWS_ROLE_ARN)
      file <- valueOf(AWS_WEB_IDENTITY_TOKEN_FILE)
      if !Seq(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY).forall(valueOf(_).isDefined)
    } yield {
      val name = valueOf(AWS_ROLE_SESSION_NAME).getOrElse(RoleSession.DefaultName)
      RoleCredentials(
        RoleCredentials.OfWebIdentity(role, name, file, None),
        RoleCredentials.sts(region, connection, anonymous),
        anonymous
      )
    }

  /** Templates leave settings blank. */
  private def valueOf(setting: SdkSystemSetting) = setting.getStringValue.toScala.filter(_.nonEmpty)

  def anonymous: Provider = new Unheld(() => AnonymousCredentialsProvider.create().resolveCredentials())

  /** Aliases are looked up at the first call, because that may read a file system, and once, because they aren't renewed. */
  private def ofKeys(keys: StaticKeys): Provider = {
    lazy val credentials: AwsCredentials = {
      val (id, secret) = (HadoopSettings.valueOf(keys.accessKeyId), HadoopSettings.valueOf(keys.secretAccessKey))
      keys.sessionToken.map(HadoopSettings.valueOf) match {
        case Some(token) => AwsSessionCredentials.create(id, secret, token)
        case None        => AwsBasicCredentials.create(id, secret)
      }
    }
    new Unheld(() => credentials)
  }

  /** Holds nothing open. */
  private[aws] final class Unheld(resolve: () => AwsCredentials) extends AwsCredentialsProvider with AutoCloseable {
    override def resolveCredentials(): AwsCredentials = resolve()
    override def close(): Unit                        = ()
  }
}
