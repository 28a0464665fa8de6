package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.FutureTimestamps
import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.wire.{Fields, Reply, Writer}

/** ListShards: filters and paging. A token carries the filter with it, so that nothing else may be said beside it,
  * and the time of the first page, so that all pages show the shards of one time.
  */
private[testkit] object ListShards {
  import Operation.Operation

  val all: Map[String, Operation] = Map("ListShards" -> list _)

  private def list(request: Request): Outcome = {
    val limit                         = request.page("MaxResults", Quota.ListShardsPage)
    val (stream, filter, after, asOf) = request.fields.text("NextToken") match {
      case Some(token) =>
        val page = continued(request, token)
        (request.streams.existing(page.stream), page.filter, Some(page.after), page.asOf)
      case None =>
        val stream = request.stream
        (stream, filterOf(request, stream), request.fields.text("ExclusiveStartShardId"), request.now)
    }
    if (stream.status == StreamStatus.Creating)
      ServiceError
        .inUse(s"Stream ${stream.name} under account ${request.config.accountId} not ACTIVE, instead in state CREATING")
        .raise()
    if (!stream.takeListCall())
      ServiceError
        .limitExceeded(s"Rate exceeded for stream ${stream.name} under account ${request.config.accountId}.")
        .raise()
    val known = ShardFilter.select(stream.listed(asOf).shards, filter, stream.listedHorizon(asOf))
    val rest  = known.filter(s => after.forall(s.id > _))
    val page  = rest.take(limit)
    Outcome(Reply.Members { out =>
      out.array("Shards")(page)(write)
      out.optional(
        "NextToken",
        Option.when(rest.size > limit)(
          ShardPage(request.config.accountId, stream.name, filter, page.last.id, asOf, request.now).encode
        )
      )
    })
  }

  private def continued(request: Request, token: String): ShardPage = {
    val beside = Vector("StreamName", "StreamARN", "ExclusiveStartShardId").filter(request.fields.text(_).nonEmpty) ++
      Option.when(request.fields.structure("ShardFilter").nonEmpty)("ShardFilter") ++
      Option.when(request.fields.time("StreamCreationTimestamp").nonEmpty)("StreamCreationTimestamp")
    if (beside.nonEmpty)
      ServiceError.invalidArgument(s"NextToken and ${beside.mkString(", ")} cannot be provided together.").raise()
    request.continued(ShardPage.decode(token))
  }

  private def filterOf(request: Request, stream: Stream): ShardFilter =
    request.fields.structure("ShardFilter").fold[ShardFilter](ShardFilter.FromTrimHorizon) { filter =>
      filter.requiredText("Type") match {
        case "AT_TRIM_HORIZON"   => ShardFilter.AtTrimHorizon
        case "FROM_TRIM_HORIZON" => ShardFilter.FromTrimHorizon
        case "AT_LATEST"         => ShardFilter.AtLatest
        case "AT_TIMESTAMP"      => ShardFilter.AtTimestamp(keptTimeOf(request, filter, stream))
        case "FROM_TIMESTAMP"    => ShardFilter.FromTimestamp(timeOf(request, filter))
        case "AFTER_SHARD_ID"    => ShardFilter.AfterShardId(filter.requiredText("ShardId"))
        case other               =>
          ServiceError
            .validation(
              other,
              "shardFilter.type",
              "Member must satisfy enum value set: [AFTER_SHARD_ID, AT_TRIM_HORIZON, FROM_TRIM_HORIZON, AT_LATEST, " +
                "AT_TIMESTAMP, FROM_TIMESTAMP]"
            )
            .raise()
      }
    }

  private def keptTimeOf(request: Request, filter: Fields, stream: Stream): Long = {
    val time = timeOf(request, filter)
    if (time < stream.horizon)
      ServiceError
        .invalidArgument(s"Timestamp $time is older than the trim horizon ${stream.horizon} of stream ${stream.name}.")
        .raise()
    time
  }

  private def timeOf(request: Request, filter: Fields): Long = {
    val time = filter.required("Timestamp")(filter.time("Timestamp"))
    checkNotInFuture(request, time)
    time
  }

  /** Refuses a time later than the service's, where the server is set to. */
  def checkNotInFuture(request: Request, time: Long): Unit =
    if (time > request.now && request.config.futureTimestamps == FutureTimestamps.Refuse)
      ServiceError
        .invalidArgument(
          "The timestampInMillis parameter cannot be greater than the currentTimestampInMillis. " +
            s"timestampInMillis: $time, currentTimestampInMillis: ${request.now}"
        )
        .raise()

  /** A shard as ListShards and DescribeStream show it. */
  def write(out: Writer, shard: ShardInfo): Unit = {
    out.text("ShardId", shard.id)
    out.optional("ParentShardId", shard.parent)
    out.optional("AdjacentParentShardId", shard.adjacentParent)
    writeRange(out, shard.range)
    out.structure("SequenceNumberRange") { range =>
      range.text("StartingSequenceNumber", shard.startingSequence)
      shard.state match {
        case ShardState.Closed(_, ending) => range.text("EndingSequenceNumber", ending)
        case ShardState.Open              => ()
      }
    }
  }

  def writeRange(out: Writer, hashes: HashRange): Unit = out.structure("HashKeyRange") { range =>
    range.text("StartingHashKey", hashes.start.toString)
    range.text("EndingHashKey", hashes.end.toString)
  }
}
