package io.github.kinesisspark.aws

import software.amazon.awssdk.auth.credentials.{AwsCredentials, AwsCredentialsProvider, ProfileCredentialsProvider}
import software.amazon.awssdk.profiles.{ProfileFile, ProfileFileSystemSetting}

import io.github.kinesisspark.aws.RoleCredentials.OfRole
import io.github.kinesisspark.config.{ConnectionOptions, RoleSession}

/** Credentials of a profile of the shared AWS files, which are read at the first call.
  *
  * @param named  left out, the one that the environment names, or `default`
  * @param region of the stream
  */
private[aws] final class ProfileCredentials(named: Option[String], region: String, connection: ConnectionOptions)
    extends AwsCredentialsProvider
    with AutoCloseable {
  import ProfileCredentials._

  /** What is asked, then what that asks itself. */
  private var made: Seq[Owned] = Nil

  override def resolveCredentials(): AwsCredentials = {
    val provider = synchronized {
      if (made.isEmpty) made = make()
      made.head
    }
    provider.resolveCredentials()
  }

  override def close(): Unit = synchronized(made).foreach(_.close())

  private def make(): Seq[Owned] = {
    val name = named.getOrElse(ProfileFileSystemSetting.AWS_PROFILE.getStringValueOrThrow)
    val file = ProfileFile.defaultProfileFile()
    ProfileSource.of(file, name) match {
      case ProfileSource.OfSdk           => Seq(ProfileCredentialsProvider.create(name))
      case source: ProfileSource.OfLogin => of(source, new LoginCredentials(file, region, connection))
    }
  }

  private def of(source: ProfileSource.OfLogin, logins: LoginCredentials): Seq[Owned] = source match {
    case sso: ProfileSource.Sso       => Seq(logins.of(sso))
    case signIn: ProfileSource.SignIn => Seq(logins.of(signIn))
    case role: ProfileSource.Role     =>
      val callers = of(role.source, logins)
      val name    = role.sessionName.getOrElse("kinesis-spark")
      val asked   = OfRole(role.arn, name, role.externalId, RoleSession.Plain)
      Closing.unlessMade(callers.foreach(_.close()))(
        RoleCredentials(asked, callers.head, region, connection) +: callers
      )
  }
}

private[aws] object ProfileCredentials {
  private type Owned = AwsCredentialsProvider & AutoCloseable
}
