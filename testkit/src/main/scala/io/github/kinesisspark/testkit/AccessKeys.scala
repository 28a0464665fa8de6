package io.github.kinesisspark.testkit

import io.github.kinesisspark.testkit.auth.{Caller, Policy}

import java.time.Instant
import java.util.concurrent.ConcurrentHashMap

/** The access keys of all accounts, which a test can add, expire and revoke while clients use them. Calls look at them for
  * every request, from any thread.
  */
final class AccessKeys private[testkit] (config: KinesisServerConfig) {
  private val byId     = new ConcurrentHashMap[String, AccessKeys.Entry]
  private val byCaller = config.accounts
    .flatMap(account => account.principals.map(p => p.arn -> Caller(account.id, p.arn, p.policy.map(Policy.parse))))
    .toMap

  for (account <- config.accounts; principal <- account.principals; key <- principal.accessKeys) add(principal.arn, key)

  /** Gives a principal one more access key. */
  def add(principalArn: String, key: AccessKey): Unit = {
    val caller = byCaller.getOrElse(principalArn, sys.error(s"No account has the principal $principalArn"))
    issue(caller, key)
  }

  private[testkit] def issue(caller: Caller, key: AccessKey): Unit = {
    val before = byId.putIfAbsent(key.id, AccessKeys.Entry(key, caller))
    require(before == null, s"Access key ${key.id} exists already")
  }

  /** Removes an access key: from now on it is unknown. */
  def revoke(accessKeyId: String): Unit = require(byId.remove(accessKeyId) != null, s"No access key $accessKeyId")

  /** Has an access key's session token expire at a time of the service's clock. */
  def expire(accessKeyId: String, at: Instant = config.clock.instant): Unit = {
    val changed = byId.computeIfPresent(
      accessKeyId,
      (_, entry) => entry.copy(key = entry.key.copy(session = entry.key.session.map(_.copy(expiresAt = Some(at)))))
    )
    require(changed != null, s"No access key $accessKeyId")
    require(changed.key.session.nonEmpty, s"Access key $accessKeyId has no session token that could expire")
  }

  private[testkit] def get(accessKeyId: String): Option[AccessKeys.Entry] = Option(byId.get(accessKeyId))
}

private[testkit] object AccessKeys {
  final case class Entry(key: AccessKey, caller: Caller)
}
