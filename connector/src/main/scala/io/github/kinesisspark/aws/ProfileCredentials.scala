package io.github.kinesisspark.aws

import software.amazon.awssdk.auth.credentials._
import software.amazon.awssdk.profiles.{ProfileFile, ProfileFileSystemSetting}

import io.github.kinesisspark.aws.ProfileSource._
import io.github.kinesisspark.aws.RoleCredentials.{OfRole, OfWebIdentity}
import io.github.kinesisspark.config.{ConnectionOptions, RoleSession}
import io.github.kinesisspark.runtime.Closing

/** Credentials of a profile of the shared AWS files, which are read at the first call. [[CredentialsCache]] asks by one thread at a time.
  *
  * @param named  left out, the one that the environment names, or `default`
  * @param region of the stream
  */
private[aws] final class ProfileCredentials(named: Option[String], region: String, connection: ConnectionOptions)
    extends AwsCredentialsProvider
    with AutoCloseable {
  import ProfileCredentials._

  /** What is asked, then what that asks itself. */
  private val made = new MadeOnce(() => make())(all => Closing.all(all: _*))

  override def resolveCredentials(): AwsCredentials = made.get().head.resolveCredentials()

  override def close(): Unit = made.close()

  private def make(): Seq[Owned] = {
    val name = named.getOrElse(ProfileFileSystemSetting.AWS_PROFILE.getStringValueOrThrow)
    val file = ProfileFile.defaultProfileFile()
    of(file, ProfileSource.of(file, name))
  }

  private def of(file: ProfileFile, source: ProfileSource): Seq[Owned] = {
    def logins = new LoginCredentials(file, region, connection)
    source match {
      case OfSdk(name)    => Seq(ProfileCredentialsProvider.create(name))
      case sso: Sso       => Seq(logins.of(sso))
      case signIn: SignIn => Seq(logins.of(signIn))
      case role: Role     => of(file, role)
    }
  }

  private def of(file: ProfileFile, role: Role): Seq[Owned] = {
    val session          = role.sessionName.getOrElse(RoleSession.DefaultName)
    val (asked, callers) = role.by match {
      case OtherProfile(source, externalId) => ofRole(role, session, externalId)            -> of(file, source)
      case Machine(has, externalId)         => ofRole(role, session, externalId)            -> Seq(ofMachine(has))
      case TokenFile(path)                  => OfWebIdentity(role.arn, session, path, None) -> Nil
    }
    val caller = callers.headOption.getOrElse(AnonymousCredentialsProvider.create())
    val sts    = RoleCredentials.sts(role.region.getOrElse(region), connection, caller).withProfile(file, role.name)
    Closing.unlessMade(callers.foreach(_.close()))(RoleCredentials(asked, sts) +: callers)
  }
}

private[aws] object ProfileCredentials {
  private type Owned = AwsCredentialsProvider & AutoCloseable

  private def ofRole(role: Role, session: String, externalId: Option[String]) =
    OfRole(role.arn, session, externalId, RoleSession.Plain)

  private def ofMachine(has: MachineCredentials): Owned = has match {
    case Environment =>
      AwsCredentialsProviderChain
        .builder()
        .credentialsProviders(
          SystemPropertyCredentialsProvider.create(),
          EnvironmentVariableCredentialsProvider.create()
        )
        .build()
    case Instance  => InstanceProfileCredentialsProvider.create()
    case Container => ContainerCredentialsProvider.create()
  }
}
