package io.github.kinesisspark.testkit.auth

import io.github.kinesisspark.testkit.{KinesisServerConfig, Login}

import java.time.Instant
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

/** The tokens of the accounts' logins. A refresh token is good for once, and gives the next one. */
final private[testkit] class LoginSessions(config: KinesisServerConfig) {
  import LoginSessions._

  private val access  = new ConcurrentHashMap[String, Access]
  private val refresh = new ConcurrentHashMap[String, Login]
  private val made    = new AtomicLong

  for (login <- config.accounts.flatMap(_.logins)) {
    access.put(login.accessToken, Access(login.role, None))
    login.refreshToken.foreach(refresh.put(_, login))
  }

  /** The role that an access token is for, unless it has expired. */
  def roleOf(accessToken: String): Option[String] =
    Option(access.get(accessToken)).filter(_.expiresAt.forall(config.clock.instant.isBefore(_))).map(_.role)

  /** The next access token of a login. */
  def next(refreshToken: String): Option[Given] = used(refreshToken).map { case (login, following) =>
    val token = s"access-token-${made.incrementAndGet()}"
    access.put(token, Access(login.role, Some(config.clock.instant.plusMillis(login.tokenLife.toMillis))))
    Given(token, following, login)
  }

  /** The login of a refresh token, and the token that is good from now on. */
  def used(refreshToken: String): Option[(Login, String)] = Option(refresh.remove(refreshToken)).map { login =>
    val following = s"refresh-token-${made.incrementAndGet()}"
    refresh.put(following, login)
    (login, following)
  }
}

private[testkit] object LoginSessions {
  final private case class Access(role: String, expiresAt: Option[Instant])

  final case class Given(accessToken: String, refreshToken: String, login: Login)
}
