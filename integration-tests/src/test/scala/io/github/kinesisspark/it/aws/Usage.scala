package io.github.kinesisspark.it.aws

import java.time.{Duration, Instant}

/** What a run pays for: each shard for as long as it is open, and each stream consumer for as long as its stream's shards are.
  *
  * @see [[https://aws.amazon.com/kinesis/data-streams/pricing/ Pricing of Kinesis Data Streams]]
  */
final case class Usage(shardMinutes: Double, consumerShardMinutes: Double) {

  /** Both together, because AWS charges about the same for either. */
  def minutes: Double = shardMinutes + consumerShardMinutes

  def +(other: Usage): Usage =
    Usage(shardMinutes + other.shardMinutes, consumerShardMinutes + other.consumerShardMinutes)

  override def toString: String =
    f"$shardMinutes%.0f shard-minutes and $consumerShardMinutes%.0f consumer-shard-minutes"
}

object Usage {
  val none: Usage = Usage(0, 0)
}

/** What is open at a moment.
  *
  * @param consumerShards the sum over all streams of consumers x shards
  */
final case class Holding(shards: Int, consumerShards: Int) {
  def atLeast(other: Holding): Holding = Holding(shards.max(other.shards), consumerShards.max(other.consumerShards))

  def during(time: Duration): Usage = {
    val minutes = time.toMillis / 60000.0
    Usage(shards * minutes, consumerShards * minutes)
  }
}

object Holding {
  val nothing: Holding = Holding(0, 0)
}

/** Sums up what was open from observations of it. Between two of them it counts the larger one, and after the last one that
  * one, so that it never counts too little of what was seen.
  */
final case class Meter private (counted: Usage, since: Instant, held: Holding) {
  def observed(holding: Holding, at: Instant): Meter =
    Meter(counted + held.atLeast(holding).during(Duration.between(since, at)), at, holding)

  def used(until: Instant): Usage = counted + held.during(Duration.between(since, until))
}

object Meter {
  def from(start: Instant): Meter = Meter(Usage.none, start, Holding.nothing)
}

/** How many shard-minutes and consumer-shard-minutes together a run may use. */
final case class Budget(minutes: Int) {
  def allows(usage: Usage): Boolean = usage.minutes <= minutes
}
