package io.github.kinesisspark.aws

import java.io.IOException
import java.nio.file.{Files, Path}
import java.time.{Duration, Instant}
import java.util.concurrent.{CompletableFuture, CompletionException}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory
import software.amazon.awssdk.auth.credentials.{AwsCredentials, AwsCredentialsProvider, AwsSessionCredentials}
import software.amazon.awssdk.core.exception.SdkClientException
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.sts.StsAsyncClient
import software.amazon.awssdk.services.sts.model.{AssumeRoleRequest, AssumeRoleWithWebIdentityRequest, Tag}
import software.amazon.awssdk.services.sts.model.{Credentials => RoleKeys}

import io.github.kinesisspark.config.{ConnectionOptions, RoleSession}

/** A role's credentials, by STS. They are renewed five minutes before they expire; a renewal that fails is tried again every ten
  * seconds, and fails the caller only in their last minute. [[CredentialsCache]] calls it on threads that may wait.
  *
  * @param ask asks STS, and waits
  * @param now the machine's time
  */
private[aws] final class RoleCredentials(
    ask: () => RoleKeys,
    held: AutoCloseable,
    now: () => Instant = () => Instant.now
) extends AwsCredentialsProvider
    with AutoCloseable {
  import RoleCredentials._

  private val log = LoggerFactory.getLogger(classOf[RoleCredentials])

  private var latest  = Option.empty[AwsSessionCredentials]
  private var nextTry = Instant.MIN

  override def resolveCredentials(): AwsCredentials = synchronized {
    latest match {
      case Some(known) if left(known) > RenewBefore                           => known
      case Some(known) if left(known) > FailBefore && now().isBefore(nextTry) => known
      case Some(known) if left(known) > FailBefore                            =>
        try renew()
        catch {
          case NonFatal(e) =>
            log.warn(
              s"A role's credentials could not be renewed, and are good for ${left(known).toSeconds} s more: " +
                KinesisFault.inOneLine(e)
            )
            nextTry = now().plusSeconds(10)
            known
        }
      case _ => renew()
    }
  }

  override def close(): Unit = held.close()

  private def renew(): AwsSessionCredentials = {
    val answer = ask()
    val keys   = AwsSessionCredentials
      .builder()
      .accessKeyId(answer.accessKeyId)
      .secretAccessKey(answer.secretAccessKey)
      .sessionToken(answer.sessionToken)
      .expirationTime(answer.expiration)
      .build()
    latest = Some(keys)
    keys
  }

  private def left(keys: AwsSessionCredentials): FiniteDuration =
    Duration.between(now(), keys.expirationTime.get).toMillis.millis
}

private[aws] object RoleCredentials {
  private val RenewBefore = 5.minutes
  private val FailBefore  = 1.minute
  private val CallTime    = Duration.ofMinutes(1)

  /** How a role is asked for. */
  sealed trait Asked {
    private[RoleCredentials] def of(client: StsAsyncClient): CompletableFuture[RoleKeys]
  }

  /** @see [[https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html AssumeRole]] */
  final case class OfRole(role: String, name: String, externalId: Option[String], session: RoleSession) extends Asked {
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
    private[RoleCredentials] def of(client: StsAsyncClient): CompletableFuture[RoleKeys] = {
      val token =
        try Files.readString(Path.of(file)).trim
        catch {
          case e: IOException =>
            // Without its cause, which looks like a lost connection.
            throw SdkClientException.create(s"Unable to load credentials: the token file can't be read: $e")
        }
      val request =
        AssumeRoleWithWebIdentityRequest.builder().roleArn(role).roleSessionName(name).webIdentityToken(token)
      duration.foreach(time => request.durationSeconds(time.toSeconds.toInt))
      client.assumeRoleWithWebIdentity(request.build()).thenApply(_.credentials)
    }
  }

  /** @param caller whose permissions ask for the role
    * @throws KinesisException `KINESIS_CA_BUNDLE`
    */
  def apply(
      asked: Asked,
      caller: AwsCredentialsProvider,
      region: String,
      connection: ConnectionOptions
  ): RoleCredentials = {
    val sts     = connection.sts
    val builder = StsAsyncClient
      .builder()
      .region(Region.of(sts.region.getOrElse(region)))
      .credentialsProvider(caller)
      .httpClientBuilder(ClientKind.Roles.http(sts.endpoint, connection))
    ClientKind.configure(builder, sts.endpoint, connection)
    // A server that sends a byte now and then keeps nobody waiting without end.
    builder.overrideConfiguration(ClientKind.named(connection).toBuilder.apiCallTimeout(CallTime).build())
    val client = builder.build()
    new RoleCredentials(() => waited(asked.of(client)), client)
  }

  private def waited(answer: CompletableFuture[RoleKeys]): RoleKeys =
    try answer.join()
    catch { case e: CompletionException if e.getCause != null => throw e.getCause }
}
