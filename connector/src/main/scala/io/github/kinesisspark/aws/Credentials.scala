package io.github.kinesisspark.aws

import io.github.kinesisspark.config.CredentialsOptions
import io.github.kinesisspark.config.CredentialsOptions._
import software.amazon.awssdk.auth.credentials._
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.sts.StsClient
import software.amazon.awssdk.services.sts.auth.StsAssumeRoleCredentialsProvider

import java.net.URI

/** Makes the SDK's credentials provider that the options ask for, and owns what it holds open. [[CredentialsCache]] calls it. */
private[aws] final class Credentials private (val provider: AwsCredentialsProvider, held: Seq[AutoCloseable])
    extends AutoCloseable {

  /** Closes the outermost first. */
  override def close(): Unit = held.foreach(_.close())
}

private[aws] object Credentials {

  /** Calls no service: a wrong role or missing keys show at the first call.
    *
    * @param region      whose STS is asked for roles
    * @param stsEndpoint instead of that region's own
    * @throws KinesisException `KINESIS_CREDENTIALS_PROVIDER`
    */
  def apply(options: CredentialsOptions, region: String, stsEndpoint: Option[URI] = None): Credentials = options match {
    case DefaultChain =>
      // Not the shared instance of `create()`: this one is closed with its client.
      owned(DefaultCredentialsProvider.builder().build())
    case Profile(name)                 => owned(ProfileCredentialsProvider.create(name))
    case StaticKeys(id, secret, token) =>
      val keys = token match {
        case Some(t) => AwsSessionCredentials.create(id.reveal, secret.reveal, t.reveal)
        case None    => AwsBasicCredentials.create(id.reveal, secret.reveal)
      }
      new Credentials(StaticCredentialsProvider.create(keys), Nil)
    case ProviderClass(name)                         => owned(ForeignCredentials(name))
    case AssumeRole(base, role, externalId, session) =>
      val caller = Credentials(base, region, stsEndpoint)
      val sts    = StsClient
        .builder()
        .region(Region.of(region))
        .credentialsProvider(caller.provider)
        // Named, so that the SDK doesn't look for HTTP clients on the user's class path.
        .httpClientBuilder(UrlConnectionHttpClient.builder())
      stsEndpoint.foreach(sts.endpointOverride(_))
      val client  = sts.build()
      val assumed = StsAssumeRoleCredentialsProvider
        .builder()
        .stsClient(client)
        .asyncCredentialUpdateEnabled(false)
        .refreshRequest { request =>
          request.roleArn(role).roleSessionName(session)
          externalId.foreach(request.externalId(_))
          ()
        }
        .build()
      new Credentials(assumed, Seq(assumed, client, caller))
  }

  private def owned(provider: AwsCredentialsProvider & AutoCloseable): Credentials =
    new Credentials(provider, Seq(provider))
}
