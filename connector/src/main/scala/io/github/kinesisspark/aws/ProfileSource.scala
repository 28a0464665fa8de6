package io.github.kinesisspark.aws

import software.amazon.awssdk.profiles.{Profile, ProfileFile, ProfileProperty}

import scala.jdk.OptionConverters._

/** What a profile of the shared AWS files gets its credentials by. The connector makes the calls of logins and roles itself, so that the
  * connection's options hold for them, and leaves all else to the SDK.
  */
private[aws] sealed trait ProfileSource extends Product with Serializable

private[aws] object ProfileSource {

  /** `aws sso login`.
    *
    * @param login name of the SSO session, or the start URL of a profile without one
    */
  final case class Sso(name: String, login: String, region: String, account: String, role: String) extends ProfileSource

  /** `aws login`.
    *
    * @param region of the profile, if it has one
    */
  final case class SignIn(name: String, session: String, region: Option[String]) extends ProfileSource

  /** @param region of the profile, if it has one
    * @param by     what the role is assumed with
    */
  final case class Role(
      name: String,
      arn: String,
      sessionName: Option[String],
      region: Option[String],
      by: RoleCaller
  ) extends ProfileSource

  /** Everything else, which the SDK knows how to do: keys, or a process. So is what is incomplete, missing or its own source, for the
    * SDK's own error.
    */
  final case class OfSdk(name: String) extends ProfileSource

  sealed trait RoleCaller extends Product with Serializable

  /** Another profile. */
  final case class OtherProfile(source: ProfileSource, externalId: Option[String]) extends RoleCaller

  /** What runs here. */
  final case class Machine(has: MachineCredentials, externalId: Option[String]) extends RoleCaller

  /** The token of an identity provider. */
  final case class TokenFile(path: String) extends RoleCaller

  /** Where a machine has credentials, as `credential_source` names it. */
  sealed abstract class MachineCredentials(val name: String) extends Product with Serializable
  case object Environment                                    extends MachineCredentials("Environment")
  case object Instance                                       extends MachineCredentials("Ec2InstanceMetadata")
  case object Container                                      extends MachineCredentials("EcsContainer")

  def of(file: ProfileFile, name: String): ProfileSource = of(file, name, Set.empty)

  private def of(file: ProfileFile, name: String, before: Set[String]): ProfileSource =
    file
      .profile(name)
      .toScala
      .filterNot(_ => before(name))
      .flatMap(of(file, _, before))
      .getOrElse(OfSdk(name))

  private def of(file: ProfileFile, profile: Profile, before: Set[String]): Option[ProfileSource] = {
    def role(arn: String, by: RoleCaller) =
      Role(
        profile.name,
        arn,
        text(profile, ProfileProperty.ROLE_SESSION_NAME),
        text(profile, ProfileProperty.REGION),
        by
      )
    (text(profile, ProfileProperty.ROLE_ARN), text(profile, ProfileProperty.WEB_IDENTITY_TOKEN_FILE)) match {
      case (Some(arn), Some(token)) => Some(role(arn, TokenFile(token)))
      case _ if isSso(profile)      => sso(file, profile)
      case (Some(arn), None)        => callerOf(file, profile, before).map(role(arn, _))
      case (None, _)                =>
        text(profile, ProfileProperty.LOGIN_SESSION)
          .map(SignIn(profile.name, _, text(profile, ProfileProperty.REGION)))
    }
  }

  private def callerOf(file: ProfileFile, profile: Profile, before: Set[String]): Option[RoleCaller] = {
    val externalId = text(profile, ProfileProperty.EXTERNAL_ID)
    (text(profile, ProfileProperty.SOURCE_PROFILE), text(profile, ProfileProperty.CREDENTIAL_SOURCE)) match {
      case (Some(other), None)  => Some(OtherProfile(of(file, other, before + profile.name), externalId))
      case (None, Some(source)) =>
        Seq(Environment, Instance, Container).find(_.name.equalsIgnoreCase(source)).map(Machine(_, externalId))
      case _ => None
    }
  }

  private val SsoSession = "sso_session"

  private def isSso(profile: Profile): Boolean = Seq(
    ProfileProperty.SSO_ROLE_NAME,
    ProfileProperty.SSO_ACCOUNT_ID,
    ProfileProperty.SSO_REGION,
    ProfileProperty.SSO_START_URL,
    SsoSession
  ).exists(text(profile, _).nonEmpty)

  private def sso(file: ProfileFile, profile: Profile): Option[Sso] = {
    val session = text(profile, SsoSession)
    for {
      account <- text(profile, ProfileProperty.SSO_ACCOUNT_ID)
      role    <- text(profile, ProfileProperty.SSO_ROLE_NAME)
      place = session.fold(Option(profile))(file.getSection("sso-session", _).toScala)
      region <- place.flatMap(text(_, ProfileProperty.SSO_REGION))
      login  <- session.orElse(text(profile, ProfileProperty.SSO_START_URL))
    } yield Sso(profile.name, login, region, account, role)
  }

  private def text(profile: Profile, property: String): Option[String] = profile.property(property).toScala
}
