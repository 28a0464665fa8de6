package io.github.kinesisspark.aws

import java.net.URI

import io.github.kinesisspark.config.{ConnectionOptions, CredentialsOptions, Secret, SecretAlias}
import io.github.kinesisspark.config.CredentialsOptions._
import software.amazon.awssdk.auth.credentials._

/** Makes the credentials provider that the options ask for, and owns what it holds open. [[CredentialsCache]] calls it. */
private[aws] final class Credentials(val provider: AwsCredentialsProvider, held: Seq[AutoCloseable])
    extends AutoCloseable {

  /** Closes the outermost first. */
  override def close(): Unit = held.foreach(_.close())
}

private[aws] object Credentials {

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
  ): Credentials = options match {
    case DefaultChain                    => owned(chain(region, connection))
    case Profile(name)                   => owned(new ProfileCredentials(Some(name), region, connection))
    case keys: StaticKeys                => new Credentials(ofKeys(keys), Nil)
    case ProviderClass(name, parameters) =>
      owned(ForeignCredentials(name, parameters.map { case (key, value) => key -> value.reveal }, endpoint))
    case WebIdentity(_)                                          => anonymous
    case AssumeRole(base, role, externalId, session, properties) =>
      val caller = Credentials(base, region, connection, endpoint)
      val asked  = base match {
        case WebIdentity(file) => RoleCredentials.OfWebIdentity(role, session, file, properties.duration)
        case _                 => RoleCredentials.OfRole(role, session, externalId, properties)
      }
      val assumed = Closing.unlessMade(caller.close())(
        RoleCredentials(asked, RoleCredentials.sts(region, connection, caller.provider))
      )
      new Credentials(assumed, Seq(assumed, caller))
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

  /** The SDK's default chain, except that a profile of a login or a role gets its credentials through this connection. */
  private def chain(region: String, connection: ConnectionOptions) = AwsCredentialsProviderChain
    .builder()
    .reuseLastProviderEnabled(true)
    .credentialsProviders(
      SystemPropertyCredentialsProvider.create(),
      EnvironmentVariableCredentialsProvider.create(),
      WebIdentityTokenFileCredentialsProvider.create(),
      new ProfileCredentials(None, region, connection),
      ContainerCredentialsProvider.create(),
      InstanceProfileCredentialsProvider.create()
    )
    .build()

  private def anonymous = new Credentials(AnonymousCredentialsProvider.create(), Nil)

  private def owned(provider: AwsCredentialsProvider & AutoCloseable): Credentials =
    new Credentials(provider, Seq(provider))

  /** Aliases are looked up at the first call, because that may read a file system, and once, because they aren't renewed. */
  private def ofKeys(keys: StaticKeys): AwsCredentialsProvider = {
    lazy val credentials = {
      val (id, secret) = (valueOf(keys.accessKeyId), valueOf(keys.secretAccessKey))
      keys.sessionToken.map(valueOf) match {
        case Some(token) => AwsSessionCredentials.create(id, secret, token)
        case None        => AwsBasicCredentials.create(id, secret)
      }
    }
    () => credentials
  }

  private def valueOf(secret: Secret): String = secret match {
    case SecretAlias(name) => HadoopSettings.secret(name)
    case plain             => plain.reveal
  }
}
