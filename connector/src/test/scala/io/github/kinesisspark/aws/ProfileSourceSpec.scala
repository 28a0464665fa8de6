package io.github.kinesisspark.aws

import java.io.ByteArrayInputStream

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.profiles.ProfileFile

import ProfileSource._

final class ProfileSourceSpec extends AnyFunSpec with Matchers {
  private val file = ProfileFile
    .builder()
    .`type`(ProfileFile.Type.CONFIGURATION)
    .content(new ByteArrayInputStream("""[profile session]
        |sso_session = work
        |sso_account_id = 111122223333
        |sso_role_name = reader
        |[sso-session work]
        |sso_region = eu-west-1
        |sso_start_url = https://work.awsapps.com/start
        |[profile legacy]
        |sso_region = eu-west-2
        |sso_start_url = https://old.awsapps.com/start
        |sso_account_id = 111122223333
        |sso_role_name = reader
        |[profile login]
        |login_session = arn:aws:iam::111122223333:user/alice
        |region = eu-west-3
        |[profile role]
        |role_arn = arn:aws:iam::444455556666:role/other
        |source_profile = session
        |external_id = e-1
        |role_session_name = job
        |[profile role-of-role]
        |role_arn = arn:aws:iam::444455556666:role/last
        |source_profile = role
        |region = eu-west-3
        |[profile keys]
        |aws_access_key_id = id
        |aws_secret_access_key = secret
        |[profile role-of-keys]
        |role_arn = arn:aws:iam::444455556666:role/other
        |source_profile = keys
        |[profile role-of-nobody]
        |role_arn = arn:aws:iam::444455556666:role/other
        |source_profile = absent
        |[profile role-of-machine]
        |role_arn = arn:aws:iam::444455556666:role/other
        |credential_source = EcsContainer
        |external_id = e-1
        |[profile two-sources]
        |role_arn = arn:aws:iam::444455556666:role/other
        |credential_source = Environment
        |source_profile = keys
        |[profile unknown-source]
        |role_arn = arn:aws:iam::444455556666:role/other
        |credential_source = Elsewhere
        |[profile circle]
        |role_arn = arn:aws:iam::444455556666:role/other
        |source_profile = circle
        |[profile token]
        |role_arn = arn:aws:iam::444455556666:role/other
        |web_identity_token_file = /token
        |sso_session = work
        |[profile incomplete]
        |sso_session = work
        |sso_account_id = 111122223333
        |[profile nowhere]
        |sso_session = missing
        |sso_account_id = 111122223333
        |sso_role_name = reader
        |""".stripMargin.getBytes("UTF-8")))
    .build()

  private def sourceOf(profile: String) = ProfileSource.of(file, profile)

  private val session = Sso("session", "work", "eu-west-1", "111122223333", "reader")
  private val other   = "arn:aws:iam::444455556666:role/other"
  private val role    = Role("role", other, Some("job"), None, OtherProfile(session, Some("e-1")))

  describe("a profile") {
    it("of SSO is known by its session, or by its start URL without one") {
      sourceOf("session") shouldBe session
      sourceOf("legacy") shouldBe
        Sso("legacy", "https://old.awsapps.com/start", "eu-west-2", "111122223333", "reader")
    }

    it("of aws login is known by its session, and asked for in its own region") {
      sourceOf("login") shouldBe SignIn("login", "arn:aws:iam::111122223333:user/alice", Some("eu-west-3"))
    }

    it("of a role is one of its source profile, which may be of a role itself, and has its own region") {
      sourceOf("role") shouldBe role
      sourceOf("role-of-role") shouldBe
        Role("role-of-role", "arn:aws:iam::444455556666:role/last", None, Some("eu-west-3"), OtherProfile(role, None))
      sourceOf("role-of-keys") shouldBe Role("role-of-keys", other, None, None, OtherProfile(OfSdk("keys"), None))
    }

    it("of a role is one of the machine's credentials, or of a token in a file") {
      sourceOf("role-of-machine") shouldBe Role("role-of-machine", other, None, None, Machine(Container, Some("e-1")))
      sourceOf("token") shouldBe Role("token", other, None, None, TokenFile("/token"))
    }

    it("of a role whose source is missing or itself leaves that source to the SDK, for its error") {
      sourceOf("role-of-nobody") shouldBe Role("role-of-nobody", other, None, None, OtherProfile(OfSdk("absent"), None))
      sourceOf("circle") shouldBe Role("circle", other, None, None, OtherProfile(OfSdk("circle"), None))
    }

    it("of anything else, or that is incomplete or missing, is left to the SDK") {
      for (name <- Seq("keys", "two-sources", "unknown-source", "incomplete", "nowhere", "absent"))
        withClue(s"$name: ")(sourceOf(name) shouldBe OfSdk(name))
    }
  }
}
