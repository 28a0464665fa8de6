package io.github.kinesisspark.aws

import java.io.IOException
import java.nio.file.{Files, Path}
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider
import software.amazon.awssdk.services.sts.{StsAsyncClient, StsAsyncClientBuilder}
import software.amazon.awssdk.services.sts.model.{AssumeRoleRequest, AssumeRoleWithWebIdentityRequest, Tag}
import software.amazon.awssdk.services.sts.model.{Credentials => RoleKeys}

import io.github.kinesisspark.aws.ServiceClient.waited
import io.github.kinesisspark.config.{ConnectionOptions, RoleSession}
import io.github.kinesisspark.runtime.Closing

/** A role's credentials, by STS. */
private[aws] object RoleCredentials {

  /** How a role is asked for. */
  sealed trait Asked {
    def role: String
    def call: AwsCall

    /** How long the credentials are to be good. */
    def duration: Option[FiniteDuration]
    private[RoleCredentials] def of(client: StsAsyncClient): CompletableFuture[RoleKeys]
  }

  /** @see [[https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html AssumeRole]] */
  final case class OfRole(role: String, name: String, externalId: Option[String], session: RoleSession) extends Asked {
    override def call: AwsCall                    = AwsCall.AssumeRole
    override def duration: Option[FiniteDuration] = session.duration

    private[RoleCredentials] def of(client: StsAsyncClient): CompletableFuture[RoleKeys] = {
      val request = AssumeRoleRequest.builder().roleArn(role).roleSessionName(name)
      externalId.foreach(request.externalId(_))
      session.duration.foreach(time => request.durationSeconds(time.toSeconds.toInt))
      session.sourceIdentity.foreach(request.sourceIdentity(_))
      if (session.tags.nonEmpty)
        request.tags(session.tags.map { case (key, value) =>
          Tag.builder().key(key).value(value).build()
        }.asJavaCollection)
      client.assumeRole(request.build()).thenApply(_.credentials)
    }
  }

  /** @param file with the token, which others renew: it is read each time
    * @see [[https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html AssumeRoleWithWebIdentity]]
    */
  final case class OfWebIdentity(role: String, name: String, file: String, duration: Option[FiniteDuration])
      extends Asked {
    override def call: AwsCall = AwsCall.AssumeRoleWithWebIdentity

    private[RoleCredentials] def of(client: StsAsyncClient): CompletableFuture[RoleKeys] = {
      val token =
        try Files.readString(Path.of(file)).trim
        catch { case e: IOException => throw NoCredentials.unreadable(Path.of(file), e) }
      val request =
        AssumeRoleWithWebIdentityRequest.builder().roleArn(role).roleSessionName(name).webIdentityToken(token)
      duration.foreach(time => request.durationSeconds(time.toSeconds.toInt))
      client.assumeRoleWithWebIdentity(request.build()).thenApply(_.credentials)
    }
  }

  /** STS, as the options have it.
    *
    * @param region unless they name one
    * @param caller whose permissions ask for roles
    */
  def sts(region: String, connection: ConnectionOptions, caller: AwsCredentialsProvider): ServiceClient =
    ServiceClient(connection.sts.region.getOrElse(region), connection, caller, connection.sts.endpoint)

  /** @param caller which `sts` calls by, closed with the credentials
    * @throws KinesisException `KINESIS_CA_BUNDLE`
    */
  def apply(asked: Asked, sts: ServiceClient, caller: AutoCloseable): RenewedCredentials = {
    val client   = sts.make[StsAsyncClientBuilder, StsAsyncClient](asked.call, StsAsyncClient.builder())
    val duration = asked.duration.getOrElse(DefaultDuration)
    new RenewedCredentials(
      s"role ${asked.role}",
      asked.call,
      () => keysOf(waited(asked.of(client))),
      () => Closing.all(client, caller),
      Some(duration)
    )
  }

  /** STS's own, for both calls. */
  private val DefaultDuration = 1.hour

  private def keysOf(keys: RoleKeys) =
    RenewedCredentials.keys(keys.accessKeyId, keys.secretAccessKey, keys.sessionToken, keys.expiration)
}
