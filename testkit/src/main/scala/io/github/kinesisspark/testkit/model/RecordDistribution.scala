package io.github.kinesisspark.testkit.model

/** Who decides which shard a record goes to.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateStreamRecordDistributionStrategy.html UpdateStreamRecordDistributionStrategy]]
  */
sealed abstract class RecordDistribution(val name: String)
object RecordDistribution {

  /** The stream: keys are optional and decide nothing. Only streams in on-demand mode can have it. */
  case object Auto extends RecordDistribution("AUTO")

  /** The record's key. */
  case object UserPartitionKey extends RecordDistribution("USER_PARTITION_KEY")

  val all: Vector[RecordDistribution] = Vector(Auto, UserPartitionKey)

  /** What a stream in a mode answers to a call that gives it one. */
  def checked(
      distribution: RecordDistribution,
      mode: StreamMode,
      stream: String,
      account: String
  ): Either[ServiceError, RecordDistribution] = Either.cond(
    distribution == UserPartitionKey || mode == StreamMode.OnDemand,
    distribution,
    ServiceError.invalidArgument(
      s"RecordDistributionStrategy ${distribution.name} is not supported for stream $stream under account $account, " +
        s"which is in ${mode.name} mode."
    )
  )
}
