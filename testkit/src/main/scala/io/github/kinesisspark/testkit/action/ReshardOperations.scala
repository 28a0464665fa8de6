package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.wire.Reply

/** Splitting, merging, and going to a number of shards. */
private[testkit] object ReshardOperations {
  import Operation.Operation

  val all: Map[String, Operation] = Map(
    "SplitShard"       -> split _,
    "MergeShards"      -> merge _,
    "UpdateShardCount" -> updateCount _
  )

  private def split(request: Request): Outcome = {
    val shard  = request.fields.requiredText("ShardToSplit")
    val text   = request.fields.requiredText("NewStartingHashKey")
    val key    = HashKey.parse(text).getOrElse(wrongHashKey(text))
    val stream = provisioned(request)
    request.streams.checkShardLimit(1).flatMap(_ => stream.split(shard, key)).fold(_.raise(), _ => Outcome.done)
  }

  private def merge(request: Request): Outcome =
    provisioned(request)
      .merge(request.fields.requiredText("ShardToMerge"), request.fields.requiredText("AdjacentShardToMerge"))
      .fold(_.raise(), _ => Outcome.done)

  private def updateCount(request: Request): Outcome = {
    val target = request.bounded("targetShardCount", request.fields.requiredInt("TargetShardCount"), 1, 100000)
    if (request.fields.requiredText("ScalingType") != "UNIFORM_SCALING")
      ServiceError
        .validation(
          request.fields.requiredText("ScalingType"),
          "scalingType",
          "Member must satisfy enum value set: [UNIFORM_SCALING]"
        )
        .raise()
    val stream  = provisioned(request)
    val current = stream.map.open.size
    val change  = for {
      _ <- allowed(current, target)
      _ <- request.streams.checkShardLimit(math.max(0, target - current))
      _ <- stream.updateShardCount(target)
    } yield ()
    change.fold(_.raise(), identity)
    Outcome(Reply.Members { out =>
      out.text("StreamName", stream.name)
      out.text("StreamARN", stream.arn)
      out.number("CurrentShardCount", current)
      out.number("TargetShardCount", target)
    })
  }

  private def allowed(current: Int, target: Int): Either[ServiceError, Unit] = {
    def refuse(what: String) = Left(
      ServiceError.limitExceeded(
        s"UpdateShardCount cannot scale $what your current open shard count. " +
          s"Current open shard count: $current Target shard count: $target"
      )
    )
    if (target > 2 * current) refuse("up over double")
    else if (target * 2 < current) refuse("down below half")
    else Right(())
  }

  /** The stream; one in ON_DEMAND mode is refused.
    *
    * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateShardCount.html UpdateShardCount]]
    */
  private def provisioned(request: Request): Stream = {
    val stream = request.stream
    if (stream.settings.mode == StreamMode.OnDemand)
      ServiceError(
        "ValidationException",
        s"Stream ${stream.name} under account ${request.config.accountId} is in ON_DEMAND mode. This operation is only " +
          "supported for data streams with the provisioned capacity mode."
      ).raise()
    stream
  }

  private def wrongHashKey(text: String): Nothing = ServiceError
    .validation(text, "newStartingHashKey", "Member must satisfy regular expression pattern: 0|([1-9]\\d{0,38})")
    .raise()
}
