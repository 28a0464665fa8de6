package io.github.kinesisspark.testkit.model

import java.util.concurrent.ConcurrentHashMap

/** What is left of each account's calls per second, for the calls that a whole account shares a quota of. */
final private[testkit] class AccountQuota {
  private val left = new ConcurrentHashMap[(String, String), RateLimit]

  /** Takes one call; false if the second's worth is used up. */
  def take(account: String, action: String, now: Long): Boolean = Quota.AccountCalls.get(action).forall { perSecond =>
    var taken = false
    left.compute(
      (account, action),
      (_, known) => {
        val before = Option(known).getOrElse(RateLimit.full(perSecond, now))
        val after  = before.take(1, now)
        taken = after.nonEmpty
        after.getOrElse(before)
      }
    )
    taken
  }
}
