package io.github.kinesisspark.testkit.auth

import io.github.kinesisspark.testkit.{AccessKey, AccessKeys, KinesisServerConfig, Role, SessionToken}
import io.github.kinesisspark.testkit.model.ServiceError

import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.concurrent.atomic.AtomicLong

/** Gives sessions of the accounts' roles to whom the roles trust. Their keys are good until they expire by the service's clock. */
final private[testkit] class RoleSessions(config: KinesisServerConfig, keys: AccessKeys) {
  import RoleSessions._

  private val roles =
    config.accounts.flatMap(account => account.roles.map(role => role.arn -> (account.id -> role))).toMap
  private val made = new AtomicLong

  def assume(
      caller: Caller,
      roleArn: String,
      name: String,
      externalId: Option[String],
      seconds: Option[Long]
  ): Either[ServiceError, Session] = {
    val trusted = Set(caller.arn, caller.accountId, s"arn:aws:iam::${caller.accountId}:root") ++ caller.roleArn
    roles.get(roleArn) match {
      case Some((account, role)) if role.trusts.exists(trusted) && role.externalId.forall(externalId.contains(_)) =>
        Right(begin(account, role, name, seconds))
      case _ =>
        Left(
          ServiceError(
            "AccessDenied",
            s"User: ${caller.arn} is not authorized to perform: sts:AssumeRole on resource: $roleArn",
            403
          )
        )
    }
  }

  def assumeWith(token: String, roleArn: String, name: String, seconds: Option[Long]): Either[ServiceError, Session] =
    roles.get(roleArn) match {
      case Some((account, role)) if role.webIdentityTokens(token) => Right(begin(account, role, name, seconds))
      case _                                                      =>
        Left(ServiceError("InvalidIdentityToken", "No OpenIDConnect provider found in your account for the token"))
    }

  /** A session for whoever has logged in to a role. */
  def give(roleArn: String, name: String): Session = {
    val (account, role) = roles.getOrElse(roleArn, sys.error(s"No account has the role $roleArn"))
    begin(account, role, name, None)
  }

  private def begin(account: String, role: Role, name: String, seconds: Option[Long]): Session = {
    val number  = made.incrementAndGet()
    val life    = role.sessionLife.map(_.toMillis).getOrElse(seconds.getOrElse(DefaultSeconds) * 1000)
    val expires = config.clock.instant.plusMillis(life).truncatedTo(ChronoUnit.MILLIS)
    val token   = s"session-token-$number"
    val key = AccessKey(f"ASIASESSION$number%09d", s"session-secret-$number", Some(SessionToken(token, Some(expires))))
    val arn = s"arn:aws:sts::$account:assumed-role/${role.arn.split('/').last}/$name"
    keys.issue(Caller(account, arn, role.policy.map(Policy.parse), Some(role.arn)), key)
    Session(arn, key, token, expires)
  }
}

private[testkit] object RoleSessions {
  private val DefaultSeconds = 3600L

  final case class Session(arn: String, key: AccessKey, token: String, expiresAt: Instant)
}
