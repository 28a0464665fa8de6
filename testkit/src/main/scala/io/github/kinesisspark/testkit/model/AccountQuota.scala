package io.github.kinesisspark.testkit.model

import java.util.concurrent.ConcurrentHashMap

/** What is left of the account's calls per second, for the calls that the whole account shares a quota of. */
final private[testkit] class AccountQuota {
  private val left = new ConcurrentHashMap[String, RateLimit]

  /** Takes one call; false if the second's worth is used up. */
  def take(action: String, now: Long): Boolean = Quota.AccountCalls.get(action).forall { perSecond =>
    var taken = false
    left.compute(
      action,
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
