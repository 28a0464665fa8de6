package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.wire.{Reply, Writer}

/** Making, describing, listing, changing and deleting streams. */
private[testkit] object StreamOperations {
  import Operation.Operation

  val all: Map[String, Operation] = Map(
    "CreateStream"                  -> create _,
    "DeleteStream"                  -> delete _,
    "DescribeStream"                -> describe _,
    "DescribeStreamSummary"         -> summarize _,
    "ListStreams"                   -> list _,
    "DescribeLimits"                -> limits _,
    "IncreaseStreamRetentionPeriod" -> increaseRetention _,
    "DecreaseStreamRetentionPeriod" -> decreaseRetention _,
    "UpdateMaxRecordSize"           -> updateMaxRecordSize _,
    "UpdateStreamMode"              -> updateMode _,
    "StartStreamEncryption"         -> startEncryption _,
    "StopStreamEncryption"          -> stopEncryption _,
    "EnableEnhancedMonitoring"      -> (monitor(_)(_ ++ _)),
    "DisableEnhancedMonitoring"     -> (monitor(_)(_ -- _))
  )

  /** An on-demand stream begins with four shards. */
  private val OnDemandShards = 4

  private def create(request: Request): Outcome = {
    val name = request.fields.requiredText("StreamName")
    Request.checkName(name, "streamName")
    val count = request.fields.int("ShardCount")
    // Without either the service makes four shards, as of an on-demand stream.
    val mode   = modeOf(request).getOrElse(if (count.isEmpty) StreamMode.OnDemand else StreamMode.Provisioned)
    val tags   = TagOperations.of(request.fields)
    val shards = (mode, count) match {
      case (StreamMode.OnDemand, Some(_)) =>
        ServiceError("ValidationException", "ShardCount must not be specified for a stream in ON_DEMAND mode.").raise()
      case (_, Some(count))               => request.bounded("shardCount", count, 1, 100000)
      case (StreamMode.OnDemand, None)    => OnDemandShards
      case (StreamMode.Provisioned, None) => ServiceError.missing("shardCount").raise()
    }
    val size         = request.fields.int("MaxRecordSizeInKiB").fold(Quota.MinRecordKiB)(recordSize(request, _))
    val distribution = RecordDistribution
      .checked(
        DistributionOperations.of(request.fields).getOrElse(RecordDistribution.UserPartitionKey),
        mode,
        name,
        request.config.accountId
      )
      .fold(_.raise(), identity)
    request.streams
      .create(name, shards, StreamSettings.default.copy(maxRecordKiB = size, mode = mode, distribution = distribution))
      .fold(_.raise(), stream => TagOperations.attach(stream, stream.arn, tags))
    Outcome.done
  }

  private def delete(request: Request): Outcome = {
    val stream     = request.stream
    val isEnforced = request.fields.flag("EnforceConsumerDeletion").contains(true)
    if (request.config.control.consumersKeepStream && !isEnforced && stream.consumers.known(request.now).nonEmpty)
      ServiceError
        .inUse(
          s"DeleteStream can't delete ${stream.arn} because there are consumers associated with this data stream. " +
            s"Set EnforceConsumerDeletion to true to delete ${stream.name} and its consumers."
        )
        .raise()
    stream.delete()
    Outcome.done
  }

  private def describe(request: Request): Outcome = {
    val stream = request.stream
    val limit  = request.page("Limit", Quota.DescribeStreamPage)
    val after  = request.fields.text("ExclusiveStartShardId")
    val known  =
      if (stream.status == StreamStatus.Creating) Vector.empty
      else
        ShardFilter.select(
          stream.listed(request.now).shards,
          ShardFilter.FromTrimHorizon,
          stream.listedHorizon(request.now)
        )
    val rest = known.filter(s => after.forall(s.id > _))
    Outcome(Reply.Members(_.structure("StreamDescription") { out =>
      common(out, stream)
      out.array("Shards")(rest.take(limit))(ListShards.write)
      out.flag("HasMoreShards", rest.size > limit)
    }))
  }

  private def summarize(request: Request): Outcome = {
    val stream = request.stream
    Outcome(Reply.Members(_.structure("StreamDescriptionSummary") { out =>
      common(out, stream)
      out.number("OpenShardCount", stream.listed(request.now).open.size)
      out.number("ConsumerCount", stream.consumers.known(request.now).size)
      out.number("MaxRecordSizeInKiB", stream.settings.maxRecordKiB)
    }))
  }

  private def list(request: Request): Outcome = {
    val limit = request.page("Limit", Quota.ListStreamsPage)
    val after = request.fields.text("NextToken").orElse(request.fields.text("ExclusiveStartStreamName"))
    val rest  = request.streams.all.filter(s => after.forall(s.name > _))
    val page  = rest.take(limit)
    Outcome(Reply.Members { out =>
      out.texts("StreamNames", page.map(_.name))
      out.flag("HasMoreStreams", rest.size > limit)
      out.optional("NextToken", Option.when(rest.size > limit)(page.last.name))
      out.array("StreamSummaries")(page)(identify)
    })
  }

  private def limits(request: Request): Outcome = {
    val streams = request.streams.all
    Outcome(Reply.Members { out =>
      out.number("ShardLimit", request.config.shardLimit)
      out.number("OpenShardCount", streams.iterator.map(_.map.open.size).sum)
      out.number("OnDemandStreamCount", streams.count(_.settings.mode == StreamMode.OnDemand))
      out.number("OnDemandStreamCountLimit", 50)
    })
  }

  private def increaseRetention(request: Request): Outcome = changeRetention(request) { (stream, hours, existing) =>
    Option.when(hours < existing)(
      s"Requested retention period ($hours hours) for stream $stream can not be shorter than existing retention " +
        s"period ($existing hours). Use DecreaseRetentionPeriod API."
    )
  }

  private def decreaseRetention(request: Request): Outcome = changeRetention(request) { (stream, hours, existing) =>
    Option.when(hours > existing)(
      s"Requested retention period ($hours hours) for stream $stream can not be longer than existing retention " +
        s"period ($existing hours). Use IncreaseRetentionPeriod API."
    )
  }

  private def changeRetention(request: Request)(wrong: (String, Int, Int) => Option[String]): Outcome = {
    val hours  = request.fields.requiredInt("RetentionPeriodHours")
    val bounds =
      if (hours < Quota.MinRetentionHours)
        Some(
          s"Minimum allowed retention period is ${Quota.MinRetentionHours} hours. Requested retention period ($hours hours) is too short."
        )
      else if (hours > Quota.MaxRetentionHours)
        Some(
          s"Maximum allowed retention period is ${Quota.MaxRetentionHours} hours. Requested retention period ($hours hours) is too long."
        )
      else None
    val stream = request.stream
    change(stream) { settings =>
      bounds
        .orElse(wrong(stream.name, hours, settings.retentionHours))
        .map(ServiceError.invalidArgument)
        .toLeft(settings.copy(retentionHours = hours))
    }
  }

  private def updateMaxRecordSize(request: Request): Outcome = {
    val size = recordSize(request, request.fields.requiredInt("MaxRecordSizeInKiB"))
    change(request.stream)(settings => Right(settings.copy(maxRecordKiB = size)))
  }

  private def updateMode(request: Request): Outcome = {
    val mode = request.fields.required("StreamModeDetails")(modeOf(request))
    request.stream.changeMode(mode).fold(_.raise(), _ => Outcome.done)
  }

  private def startEncryption(request: Request): Outcome = {
    val key = keyOf(request)
    request.stream.encrypt(key).fold(_.raise(), _ => Outcome.done)
  }

  private def stopEncryption(request: Request): Outcome = {
    keyOf(request): Unit
    change(request.stream)(settings => Right(settings.copy(encryptionKey = None)))
  }

  /** The key of a call about encryption, whose type can only be KMS. */
  private def keyOf(request: Request): String = {
    val kind = request.fields.requiredText("EncryptionType")
    if (!EncryptionTypes.contains(kind))
      ServiceError
        .validation(
          kind,
          "encryptionType",
          s"Member must satisfy enum value set: [${EncryptionTypes.mkString(", ")}]"
        )
        .raise()
    if (kind != Kms) ServiceError.invalidArgument(s"EncryptionType must be $Kms. Specified value was $kind.").raise()
    request.fields.requiredText("KeyId")
  }

  /** Changes which metrics of its shards a stream has. */
  private def monitor(request: Request)(to: (Set[ShardMetric], Set[ShardMetric]) => Set[ShardMetric]): Outcome = {
    val names   = request.fields.required("ShardLevelMetrics")(request.fields.texts("ShardLevelMetrics"))
    val metrics = metricsOf(names)
    val stream  = request.stream
    val before  = stream.settings.shardMetrics
    val after   = to(before, metrics)
    change(stream)(settings => Right(settings.copy(shardMetrics = after))): Unit
    Outcome(Reply.Members { out =>
      out.text("StreamName", stream.name)
      out.text("StreamARN", stream.arn)
      out.texts("CurrentShardLevelMetrics", inOrder(before))
      out.texts("DesiredShardLevelMetrics", inOrder(after))
    })
  }

  private def metricsOf(names: Vector[String]): Set[ShardMetric] = {
    def refuse(constraint: String): Nothing =
      ServiceError.validation(names.mkString("[", ", ", "]"), "shardLevelMetrics", constraint).raise()
    if (names.isEmpty || names.size > ShardMetric.all.size)
      refuse(s"Member must have length between 1 and ${ShardMetric.all.size}")
    names.flatMap {
      case ShardMetric.AllName => ShardMetric.all
      case name                =>
        Vector(ShardMetric.all.find(_.name == name).getOrElse {
          val known = ShardMetric.all.map(_.name) :+ ShardMetric.AllName
          refuse(s"Member must satisfy enum value set: [${known.mkString(", ")}]")
        })
    }.toSet
  }

  private def inOrder(metrics: Set[ShardMetric]): Vector[String] = ShardMetric.all.filter(metrics).map(_.name)

  private def change(stream: Stream)(to: StreamSettings => Either[ServiceError, StreamSettings]): Outcome =
    stream.update(to).fold(_.raise(), _ => Outcome.done)

  private def recordSize(request: Request, kib: Int): Int =
    request.bounded("maxRecordSizeInKiB", kib, Quota.MinRecordKiB, Quota.MaxRecordKiB)

  private def modeOf(request: Request): Option[StreamMode] =
    request.fields.structure("StreamModeDetails").map { details =>
      val name = details.requiredText("StreamMode")
      StreamMode.all
        .find(_.name == name)
        .getOrElse(
          ServiceError
            .validation(
              name,
              "streamModeDetails.streamMode",
              s"Member must satisfy enum value set: [${StreamMode.all.map(_.name).mkString(", ")}]"
            )
            .raise()
        )
    }

  private def common(out: Writer, stream: Stream): Unit = {
    identify(out, stream)
    out.number("RetentionPeriodHours", stream.settings.retentionHours)
    out.array("EnhancedMonitoring")(Vector(stream.settings.shardMetrics)) { (item, metrics) =>
      item.texts("ShardLevelMetrics", inOrder(metrics))
    }
    out.text("EncryptionType", if (stream.settings.encryptionKey.isEmpty) "NONE" else Kms)
    out.optional("KeyId", stream.settings.encryptionKey)
  }

  private def identify(out: Writer, stream: Stream): Unit = {
    out.text("StreamName", stream.name)
    out.text("StreamARN", stream.arn)
    out.text("StreamStatus", stream.status.name)
    out.structure("StreamModeDetails")(_.text("StreamMode", stream.settings.mode.name))
    out.time("StreamCreationTimestamp", stream.createdAt)
  }

  /** Encryption by a key of the Key Management Service, the only kind there is. */
  val Kms = "KMS"

  private val EncryptionTypes = Vector("NONE", Kms)
}
