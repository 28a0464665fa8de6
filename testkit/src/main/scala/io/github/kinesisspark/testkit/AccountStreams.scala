package io.github.kinesisspark.testkit

import io.github.kinesisspark.testkit.model.{ShardIterator, Stream}
import io.github.kinesisspark.testkit.subscription.Timetable

import java.util.concurrent.atomic.AtomicInteger

/** The streams of all accounts: each account's own, by name. */
final private[testkit] class AccountStreams(config: KinesisServerConfig, time: Timetable) {
  private val incarnations = new AtomicInteger
  private val byAccount    = (config.accountId +: config.accounts.map(_.id)).distinct.map { id =>
    id -> new Streams(config.copy(accountId = id), time, incarnations)
  }.toMap

  /** The streams of the server's own account. */
  val own: Streams = byAccount(config.accountId)

  def of(accountId: String): Option[Streams] = byAccount.get(accountId)

  /** The stream that an iterator was made for, whichever account it is of. */
  def of(iterator: ShardIterator): Option[Stream] = byAccount.values.iterator
    .flatMap(_.get(iterator.stream))
    .find(stream => stream.createdAt == iterator.streamCreatedAt && stream.incarnation == iterator.incarnation)
}
