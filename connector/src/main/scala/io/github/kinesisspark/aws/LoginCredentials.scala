package io.github.kinesisspark.aws

import java.time.Instant

import software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration
import software.amazon.awssdk.profiles.ProfileFile
import software.amazon.awssdk.services.signin.{SigninAsyncClient, SigninAsyncClientBuilder}
import software.amazon.awssdk.services.signin.internal.DpopAuthPlugin
import software.amazon.awssdk.services.signin.model.{CreateOAuth2TokenRequest, CreateOAuth2TokenRequestBody}
import software.amazon.awssdk.services.sso.{SsoAsyncClient, SsoAsyncClientBuilder}
import software.amazon.awssdk.services.sso.model.{GetRoleCredentialsRequest, UnauthorizedException}
import software.amazon.awssdk.services.ssooidc.{SsoOidcAsyncClient, SsoOidcAsyncClientBuilder}
import software.amazon.awssdk.services.ssooidc.model.CreateTokenRequest

import io.github.kinesisspark.aws.ServiceClient.waited
import io.github.kinesisspark.config.ConnectionOptions
import io.github.kinesisspark.runtime.Closing

/** Credentials of a person's login with the AWS command line. Its services are asked here, not by the SDK's own providers, because those know
  * nothing of the connection's options, and the one of SSO keeps its first token for good.
  *
  * @param file with the profile, which may name endpoints
  */
private[aws] final class LoginCredentials(file: ProfileFile, region: String, connection: ConnectionOptions) {
  import LoginCredentials._

  /** Of `aws sso login`: a token, with which the portal gives keys of a role. */
  def of(profile: ProfileSource.Sso): RenewedCredentials = {
    val caller = ServiceClient(profile.region, connection, AnonymousCredentialsProvider.create())
      .withProfile(file, profile.name)
    val portal =
      caller.make[SsoAsyncClientBuilder, SsoAsyncClient](AwsCall.GetRoleCredentials, SsoAsyncClient.builder())
    val tokens = Closing.unlessMade(portal.close())(
      caller.make[SsoOidcAsyncClientBuilder, SsoOidcAsyncClient](AwsCall.CreateToken, SsoOidcAsyncClient.builder())
    )
    val login = new Login(
      profile.name,
      "aws sso login",
      AwsCall.CreateToken,
      LoginFile.ofSso(profile.login),
      kept => Login.timeOf(kept("expiresAt").str),
      kept => renewalOf(kept, tokens)
    )
    new RenewedCredentials(
      s"profile ${profile.name}",
      AwsCall.GetRoleCredentials,
      () => keysOfRole(profile, login, portal),
      () => Closing.all(portal, tokens)
    )
  }

  /** Of `aws login`: keys, with a token that others are given for. */
  def of(profile: ProfileSource.SignIn): RenewedCredentials = {
    val caller = ServiceClient(profile.region.getOrElse(region), connection, AnonymousCredentialsProvider.create())
      .withProfile(file, profile.name)
    val client =
      caller.make[SigninAsyncClientBuilder, SigninAsyncClient](AwsCall.CreateOAuth2Token, SigninAsyncClient.builder())
    val login = new Login(
      profile.name,
      "aws login",
      AwsCall.CreateOAuth2Token,
      LoginFile.ofSignIn(profile.session),
      kept => Login.timeOf(kept("accessToken")("expiresAt").str),
      kept => Some(() => renewed(kept, client))
    )
    def ask() = {
      val kept = login.current()("accessToken")
      RenewedCredentials.keys(
        kept("accessKeyId").str,
        kept("secretAccessKey").str,
        kept("sessionToken").str,
        Login.timeOf(kept("expiresAt").str)
      )
    }
    new RenewedCredentials(s"profile ${profile.name}", AwsCall.CreateOAuth2Token, () => ask(), client)
  }
}

private[aws] object LoginCredentials {

  private def keysOfRole(profile: ProfileSource.Sso, login: Login, portal: SsoAsyncClient) = {
    val request = GetRoleCredentialsRequest
      .builder()
      .accountId(profile.account)
      .roleName(profile.role)
      .accessToken(login.current()("accessToken").str)
      .build()
    try {
      val keys = waited(portal.getRoleCredentials(request)).roleCredentials
      RenewedCredentials.keys(
        keys.accessKeyId,
        keys.secretAccessKey,
        keys.sessionToken,
        Instant.ofEpochMilli(keys.expiration)
      )
    } catch {
      // Someone has logged out: the token is worth nothing, whatever its file says.
      case e: UnauthorizedException => login.required(s"AWS refuses its login: ${KinesisFault.inOneLine(e)}")
    }
  }

  /** A profile without an SSO session has no refresh token. */
  private def renewalOf(kept: ujson.Obj, tokens: SsoOidcAsyncClient): Option[() => ujson.Obj] =
    for {
      id      <- text(kept, "clientId")
      secret  <- text(kept, "clientSecret")
      refresh <- text(kept, "refreshToken")
    } yield () => {
      val request =
        CreateTokenRequest.builder().grantType("refresh_token").clientId(id).clientSecret(secret).refreshToken(refresh)
      val answer = waited(tokens.createToken(request.build()))
      val next   = ujson.copy(kept).asInstanceOf[ujson.Obj]
      next("accessToken") = answer.accessToken
      next("expiresAt") = in(answer.expiresIn)
      Option(answer.refreshToken).foreach(next("refreshToken") = _)
      next
    }

  /** The service gives keys only to who holds the private key of the login (RFC 9449), which signs the request. */
  private def renewed(kept: ujson.Obj, client: SigninAsyncClient): ujson.Obj = {
    val proof   = DpopAuthPlugin.create(kept("dpopKey").str)
    val request = CreateOAuth2TokenRequest
      .builder()
      .tokenInput(
        CreateOAuth2TokenRequestBody
          .builder()
          .grantType("refresh_token")
          .clientId(kept("clientId").str)
          .refreshToken(kept("refreshToken").str)
          .build()
      )
      .overrideConfiguration(AwsRequestOverrideConfiguration.builder().addPlugin(proof).build())
      .build()
    val answer = waited(client.createOAuth2Token(request)).tokenOutput
    val next   = ujson.copy(kept).asInstanceOf[ujson.Obj]
    val keys   = next("accessToken")
    keys("accessKeyId") = answer.accessToken.accessKeyId
    keys("secretAccessKey") = answer.accessToken.secretAccessKey
    keys("sessionToken") = answer.accessToken.sessionToken
    keys("expiresAt") = in(answer.expiresIn)
    next("refreshToken") = answer.refreshToken
    next
  }

  private def in(seconds: Integer): String = Instant.now.plusSeconds(seconds.toLong).toString

  private def text(kept: ujson.Obj, field: String): Option[String] = kept.value.get(field).flatMap(_.strOpt)
}
