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

  private val made = new MadeOnce(() => make())

  override def resolveCredentials(): AwsCredentials = made.get().resolveCredentials()

  override def close(): Unit = made.close()

  private def make(): Credentials.Provider = {
    val name = named.getOrElse(ProfileFileSystemSetting.AWS_PROFILE.getStringValueOrThrow)
    val file = ProfileFile.defaultProfileFile()
    of(file, ProfileSource.of(file, name))
  }

  private def of(file: ProfileFile, source: ProfileSource): Credentials.Provider = {
    def logins = new LoginCredentials(file, region, connection)
    source match {
      case OfSdk(name)    => ProfileCredentialsProvider.create(name)
      case sso: Sso       => logins.of(sso)
      case signIn: SignIn => logins.of(signIn)
      case role: Role     => of(file, role)
    }
  }

  private def of(file: ProfileFile, role: Role): Credentials.Provider = {
    val session         = role.sessionName.getOrElse(RoleSession.DefaultName)
    val (asked, caller) = role.by match {
      case OtherProfile(source, externalId) => ofRole(role, session, externalId)            -> of(file, source)
      case Machine(has, externalId)         => ofRole(role, session, externalId)            -> ofMachine(has)
      case TokenFile(path)                  => OfWebIdentity(role.arn, session, path, None) -> Credentials.anonymous
    }
    val sts = RoleCredentials.sts(role.region.getOrElse(region), connection, caller).withProfile(file, role.name)
    Closing.unlessMade(caller.close())(RoleCredentials(asked, sts, caller))
  }
}

private[aws] object ProfileCredentials {
  private def ofRole(role: Role, session: String, externalId: Option[String]) =
    OfRole(role.arn, session, externalId, RoleSession.Plain)

  private def ofMachine(has: MachineCredentials): Credentials.Provider = has match {
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
