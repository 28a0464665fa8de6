package io.github.kinesisspark.testkit.model

import java.util.concurrent.ConcurrentHashMap

/** What is left of the calls per second that accounts and streams have. Thread-safe.
  *
  * @see [[Quota.AccountCalls]] and [[Quota.StreamCalls]]
  */
final private[testkit] class CallQuotas {
  private val left = new ConcurrentHashMap[(String, String), RateLimit]

  /** Takes one call of the quota. Returns the account or stream that has no call left in this second; None if the call is allowed. */
  def take(account: String, stream: Option[String], action: String, now: Long): Option[String] = {
    val ofAccount = Quota.AccountCalls.get(action).map(s"account $account" -> _)
    val ofStream  = Quota.StreamCalls.get(action).map(s"stream ${stream.mkString} under account $account" -> _)
    ofAccount.orElse(ofStream).collect { case (owner, perSecond) if !takeOf(owner, action, perSecond, now) => owner }
  }

  private def takeOf(owner: String, action: String, perSecond: Long, now: Long): Boolean = {
    var taken = false
    left.compute(
      (owner, action),
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
