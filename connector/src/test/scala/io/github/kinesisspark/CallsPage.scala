package io.github.kinesisspark

import java.util.concurrent.TimeUnit.{MILLISECONDS, MINUTES, SECONDS}

import scala.concurrent.duration._

import io.github.kinesisspark.aws.AwsCall._
import io.github.kinesisspark.aws.{AwsCall, RenewedCredentials}
import io.github.kinesisspark.config.{
  CallRetries,
  CloudWatchOptions,
  FanOutOptions,
  Opt,
  PollingOptions,
  SinkOptions,
  SourceOptions
}
import io.github.kinesisspark.read.catalog.{ListedStream, Parallel}
import io.github.kinesisspark.read.reader.{PollingPace, Subscription}
import io.github.kinesisspark.write.send.SizeLimits

/** The tables of docs/reference/calls.md. Numbers come from the code, and [[CallsPageSpec]] holds calls and makers to what the connector is
  * compiled to.
  */
private object CallsPage {

  sealed abstract class Place(val name: String)
  case object Driver    extends Place("driver")
  case object Executors extends Place("executors")
  case object Both      extends Place("driver, executors")

  /** @param makers classes that make the calls, or have [[CallsPageSpec.conduits]] make them */
  final case class Row(calls: Seq[AwsCall], place: Place, when: String, makers: Seq[String])

  final case class Table(name: String, rows: Seq[Row])

  private def row(calls: AwsCall*)(place: Place, makers: String*)(when: String) = Row(calls, place, when, makers)

  /** In an executor, from which on a shard without records is asked less often than so. */
  private def readers(idle: FiniteDuration) = idle.toMillis / PollingPace.IdleOfEach.toMillis

  private val reading = Seq(
    row(DescribeStreamSummary)(Driver, "ListedStream")(
      "once for each stream when a query or a batch read starts, and when a reader finds its stream, shard or consumer gone"
    ),
    row(ListShards)(Driver, "ListedStream")(
      s"a few times when a query or a batch read starts; every ${option(SourceOptions.shardDiscoveryInterval)} while batches are planned; " +
        s"when a shard has ended and its children are unknown, no sooner than ${shown(ListedStream.ListAgain)} after the listing before"
    ),
    row(GetShardIterator)(Driver, "ListedStream")(
      s"for a shard that no listing has, though a checkpoint, a position or a child names it, and for one that its reader doesn't find: no " +
        s"sooner than ${shown(ListedStream.ListAgain)} after the call before; ListShards follows where it isn't found, and once a second while a batch waits for a listing of its shards"
    ),
    row(GetShardIterator)(Executors, "PollingRecordPublisher")(
      "once for each shard that is polled; again when the iterator has expired, and after two failed calls in a row that were not throttled"
    ),
    row(ListShards)(Executors, "TaskReaders")(
      "once for a shard that a task doesn't find, before its records count as lost"
    ),
    row(GetRecords)(Executors, "PollingRecordPublisher")(
      s"a shard with records: at intervals of ${shown(busy)}, which is nearly ${option(PollingOptions.callsPerSecond)} a second; a shard without " +
        s"records: at intervals that grow to ${shown(PollingPace.Idle)}, or further where an executor polls more than " +
        f"${readers(PollingPace.Idle)} shards, to ${shown(PollingPace.IdleOfMany)} from ${readers(PollingPace.IdleOfMany)}%,d shards on. " +
        s"A call to AWS asks for about ${PollingPace.BytesPerSecond >> 20} MiB at most, and the next one waits for as long as the answer's bytes take at " +
        s"${PollingPace.BytesPerSecond >> 20} MiB a second. At " +
        s"${PollingPace.MostCallsPerSecond} calls a second, a shard at an `endpoint` outside AWS that gives more is called without a pause until it refuses a call"
    ),
    row(GetShardIterator, GetRecords)(Driver, "CurrentEnds")(
      "`availableNow` and `once`: a few looks into each open shard for its newest record"
    ),
    row(GetShardIterator, GetRecords)(Driver, "StreamHistory", "KinesisBatch")(
      "batch reads: a few looks into each shard for where it begins and ends, by the times of a filter, and to cut it for `minPartitions`"
    ),
    row(GetShardIterator, GetRecords)(Driver, "GivenPositions")(
      "positions with sequence numbers that are given: one to three looks into each shard; exact positions of `latest` and `at`: a few"
    ),
    row(GetShardIterator, GetRecords)(Driver, "RetentionCheck")(
      "a checkpoint that is older than [retention](../concepts/retention.md): one look into each shard for its oldest record"
    ),
    row(GetShardIterator, GetRecords)(Driver, "BeyondBuffers")(
      "triggers that outlast the readers' buffers: one or more looks into each full shard for where the micro-batch ends"
    ),
    row(GetShardIterator, GetRecords)(Driver, "ReadToTip")(
      "two looks into each shard: while a program waits in `processAllAvailable()`, for each planning that finds no records; every 10 s where dynamic " +
        "allocation has left an idle query without executors"
    ),
    row(DescribeStreamSummary, ListShards)(Driver, "RemovedStreams")(
      "once for a stream that was taken out of the options while a micro-batch of it was not committed"
    ),
    row(DescribeStreamSummary)(Driver, "FanOutConsumers")(
      "fan-out: once for each stream that is given by name, when the query starts, and at `load()` with `efo.registration` = `eager`"
    ),
    row(DescribeStreamConsumer)(Driver, "FanOutConsumers")(
      s"fan-out: once for each stream when the query starts; then after random waits of ${shown(describing.base)} at most, which grow " +
        s"to ${shown(describing.max)} at most, until the consumer is ACTIVE; when SubscribeToShard finds it gone; and when the query stops before that"
    ),
    row(RegisterStreamConsumer)(Driver, "FanOutConsumers")(
      "fan-out: once for each stream without a consumer of that name, when the query starts or at `load()`; again when others have deregistered it, " +
        s"and without the tag `${FanOutOptions.OwnerTag}` when that is denied"
    ),
    row(ListStreamConsumers)(Driver, "FanOutConsumers")(
      "fan-out: when a limit refuses RegisterStreamConsumer, to find out which one and to name the consumers in the error"
    ),
    row(SubscribeToShard)(Executors, "SubscriptionCall")(
      "fan-out: once for each shard in five minutes, after which Kinesis ends a subscription; again when one is lost, no sooner than " +
        s"${shown(Subscription.Spacing)} after the shard's call before"
    ),
    row(ListTagsForResource)(Driver, "FanOutConsumers")(
      "fan-out: once for each stream when the query stops, where `efo.deregisterOnStop` is `registered` and this run has not registered the consumer; " +
        "and when it starts, with `efo.registration` = `eager`"
    ),
    row(TagResource)(Driver, "FanOutConsumers")(
      "fan-out with `efo.registration` = `eager`: once for each consumer that `load()` registered, when the query starts"
    ),
    row(DeregisterStreamConsumer)(Driver, "FanOutConsumers")(
      s"fan-out: once for each stream when the query stops, by ${option(FanOutOptions.deregisterOnStop)}"
    )
  )

  private val writing = Seq(
    row(PutRecords)(Executors, "PutRecordsCall")(
      s"for up to ${SizeLimits.MaxRecords} records and ${SizeLimits().callBytes >> 20} MiB: when that much is there; in a streaming query " +
        s"when `linger` is over (default ${shown(linger(aggregate = false).idle)} while no call of the task is under way and " +
        s"${shown(linger(aggregate = false).busy)} while one is, with `aggregate` ${shown(linger(aggregate = true).busy)}); at the end of the task. A " +
        s"task has ${option(SinkOptions.maxInFlightCalls)} calls under way at most"
    ),
    row(ListShards)(Executors, "PutRecordsCalls")(
      "`aggregate`: once for each stream in each task; again when an answer names a shard that was not listed"
    )
  )

  private val credentials = Seq(
    row(AssumeRole)(Both, "RoleCredentials")(
      s"for `roleArn`, each role of `roleChain`, and a profile's `role_arn`: $renewed"
    ),
    row(AssumeRoleWithWebIdentity)(Both, "RoleCredentials")(
      s"for `webIdentityTokenFile`, AWS_WEB_IDENTITY_TOKEN_FILE and a profile's `web_identity_token_file`: $renewed"
    ),
    row(GetRoleCredentials)(Both, "LoginCredentials")(s"for a profile of SSO: $renewed"),
    row(CreateToken)(Both, "LoginCredentials")(s"for a profile of SSO: ${beforeItsEnd("the login")}"),
    row(CreateOAuth2Token)(Both, "LoginCredentials")(s"for a profile of `aws login`: ${beforeItsEnd("the login")}")
  )

  private val metrics = Seq(
    row(PutMetricData)(Driver, "CloudWatch")(
      s"`cloudWatch.namespace`: once every ${option(CloudWatchOptions.interval)} for each source of a query"
    )
  )

  private val functions = Seq(
    row(DescribeStreamSummary, ListShards)(Driver, "StreamShards")("`shards`: once for each stream"),
    row(ListShards)(Driver, "StreamShards")(
      "`shards`: about 17 times for each reshard of the last day, 500 times at most, because no call returns when a shard was opened"
    ),
    row(GetShardIterator, GetRecords)(Driver, "StreamShards")(
      s"`shards` with a query's position: once for each shard that the query is in, of up to ${Parallel.AtOnce} shards at a time, for one record"
    ),
    row(
      DescribeStreamSummary,
      DescribeStreamConsumer,
      RegisterStreamConsumer,
      ListStreamConsumers,
      DeregisterStreamConsumer
    )(Driver, "StreamConsumers")("`StreamConsumers`: what its methods are named after, once for each stream")
  )

  val tables: Seq[Table] = Seq(
    Table("calls-reading", reading),
    Table("calls-writing", writing),
    Table("calls-credentials", credentials),
    Table("calls-metrics", metrics),
    Table("calls-functions", functions)
  )

  def markdown(table: Table): String = PagePart.table(
    Seq("Call", "IAM action", "Made by", "When and how often"),
    table.rows.map { row =>
      val actions = row.calls.map(_.permission.fold("–")(action => s"`$action`"))
      Seq(row.calls.mkString(", "), actions.distinct.mkString(", "), row.place.name, row.when)
    }
  )

  private def renewed = s"at a client's first call; ${beforeItsEnd("the credentials")}"

  private def beforeItsEnd(what: String) =
    s"${shown(RenewedCredentials.RenewBefore)} before $what expire${if (what.endsWith("s")) "" else "s"}, and every " +
      s"${shown(RenewedCredentials.TryAgain)} until that succeeds"

  private def busy = PollingPace.of(PollingOptions.Default.callsPerSecond, isAws = true).interval

  private def linger(aggregate: Boolean) =
    SinkOptions.parse(Map("streamName" -> "orders", "aggregate" -> aggregate.toString)).linger

  private def option(of: Opt[?]) = s"`${of.name}` (default `${of.default.get}`)"

  private def describing = CallRetries.default.of(DescribeStreamConsumer.toString)

  private def shown(time: FiniteDuration): String = time.toCoarsest.unit match {
    case MILLISECONDS => s"${time.toMillis} ms"
    case SECONDS      => s"${time.toSeconds} s"
    case MINUTES      => s"${time.toMinutes} minutes"
    case _            => time.toString
  }
}
