package io.github.kinesisspark.aws

import software.amazon.awssdk.profiles.{Profile, ProfileFile, ProfileProperty}

import scala.jdk.OptionConverters._

/** What a profile of the shared AWS files gets its credentials by. The connector handles logins itself, and leaves all else to the SDK. */
private[aws] sealed trait ProfileSource extends Product with Serializable

private[aws] object ProfileSource {

  /** A person's login with the AWS command line, or a role that is assumed with it. */
  sealed trait OfLogin extends ProfileSource

  /** `aws sso login`.
    *
    * @param login name of the SSO session, or the start URL of a profile without one
    */
  final case class Sso(name: String, login: String, region: String, account: String, role: String) extends OfLogin

  /** `aws login`.
    *
    * @param region of the profile, if it has one
    */
  final case class SignIn(name: String, session: String, region: Option[String]) extends OfLogin

  /** @param source the profile that the role is assumed with */
  final case class Role(source: OfLogin, arn: String, externalId: Option[String], sessionName: Option[String])
      extends OfLogin

  /** Everything else, which the SDK knows how to do; so is what is incomplete, for the SDK's own error. */
  case object OfSdk extends ProfileSource

  def of(file: ProfileFile, name: String): ProfileSource = of(file, name, Set.empty)

  private def of(file: ProfileFile, name: String, before: Set[String]): ProfileSource =
    file.profile(name).toScala.filterNot(_ => before(name)).fold[ProfileSource](OfSdk) { profile =>
      val role = text(profile, ProfileProperty.ROLE_ARN)
      if (role.nonEmpty && text(profile, ProfileProperty.WEB_IDENTITY_TOKEN_FILE).nonEmpty) OfSdk
      else if (isSso(profile)) sso(file, profile).getOrElse(OfSdk)
      else if (role.nonEmpty)
        text(profile, ProfileProperty.SOURCE_PROFILE).map(of(file, _, before + name)).fold[ProfileSource](OfSdk) {
          case OfSdk           => OfSdk
          case source: OfLogin =>
            val externalId = text(profile, ProfileProperty.EXTERNAL_ID)
            Role(source, role.get, externalId, text(profile, ProfileProperty.ROLE_SESSION_NAME))
        }
      else
        text(profile, ProfileProperty.LOGIN_SESSION)
          .fold[ProfileSource](OfSdk)(SignIn(name, _, text(profile, ProfileProperty.REGION)))
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
