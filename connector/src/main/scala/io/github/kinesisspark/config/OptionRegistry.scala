package io.github.kinesisspark.config

import java.net.URI

import io.github.kinesisspark.position.ConsumerArn

import scala.concurrent.duration._

import OptionScope.{Both, Sink, Source}

/** The registry: every option of the connector, declared here and only here. The parser, the README's table and the
  * Python package's test all read it. What options mean together is decided by [[SourceOptionsParser]] and
  * [[SinkOptionsParser]].
  */
object OptionRegistry {

  val streamName: Opt[Seq[StreamRef]] = option(
    "streamName",
    "list",
    OptionValue.list(OptionValue.streamName, _.name),
    doc = "The stream to read, or several, comma-separated. Either this or `streamArn` is required; streams that share a name, " +
      "in several regions or accounts, are named by `streamArn`. In writing: the one stream for rows that don't name " +
      "theirs in a column `targetStream`.",
    scope = Both
  )

  val streamArn: Opt[Seq[StreamRef]] = option(
    "streamArn",
    "list",
    OptionValue.list(OptionValue.streamArn, _.toString),
    doc =
      "The ARN of the stream to read, or of several, comma-separated, or of the one to write to. Region and account are " +
        "taken from it.",
    scope = Both
  )

  val region: Opt[String] = option(
    "region",
    "string",
    OptionValue.region,
    doc =
      "The region of a stream that is given by name; an ARN names its own. Left out, it is what the AWS SDK finds: the system property " +
        "`aws.region`, the environment variable `AWS_REGION`, the profile, the instance.",
    scope = Both,
    perStream = true
  )

  val endpoint: Opt[URI] = option(
    "endpoint",
    "uri",
    OptionValue.endpoint,
    doc = "The address of the service instead of the region's own: a VPC endpoint or a local server.",
    scope = Both,
    perStream = true
  )

  val startingPosition: Opt[PositionValue] = option(
    "startingPosition",
    "position",
    PositionValue.parse,
    doc = "Where a query without a checkpoint starts (left out: `LATEST`), or a batch read (left out: `TRIM_HORIZON`): " +
      "`LATEST`, `TRIM_HORIZON`, `AT_TIMESTAMP:<time>`, the time being ISO-8601 with an offset, such as " +
      "`2026-01-31T08:00:00Z`, or milliseconds since 1970 (UTC), or positions by stream and shard as JSON, such as the offset " +
      "of another query. `LATEST` is the second of the service's clock in which the query first plans. A query with a " +
      "checkpoint continues from there.",
    perStream = true,
    aliases = Seq("initialPosition")
  )

  val endingPosition: Opt[PositionValue] = option(
    "endingPosition",
    "position",
    PositionValue.parse,
    doc =
      "Where a batch read ends, in the form of `startingPosition`; what is at that position itself isn't read. Left out, it is " +
        "`LATEST`: what is in the stream when the DataFrame is first used. It is fixed then, to the record.",
    perStream = true
  )

  val recordPublisher: Opt[RecordPublisherName] = option(
    "recordPublisher",
    "enum",
    OptionValue.oneOf("polling" -> RecordPublisherName.Polling, "efo" -> RecordPublisherName.Efo),
    default = Some("polling"),
    doc = "How records come out of shards: `polling` shares the 2 MB/s of a shard with its other readers; `efo` " +
      "(enhanced fan-out) has 2 MB/s of each shard to itself, by a stream consumer that AWS charges for. The `efo.` options " +
      "count with `efo` alone.",
    values = Seq("polling", "efo")
  )

  val failOnDataLoss: Opt[Boolean] = option(
    "failOnDataLoss",
    "boolean",
    OptionValue.boolean,
    default = Some("true"),
    doc =
      "Whether the query fails when records were removed (past the stream's retention) before it had read them, also if that " +
        "is only likely, or when a stream of the checkpoint is not in the list any more. With `false` it warns and " +
        "continues with the oldest records that are left, or without that stream.",
    values = Seq("true", "false")
  )

  val deaggregate: Opt[Boolean] = option(
    "deaggregate",
    "boolean",
    OptionValue.boolean,
    default = Some("true"),
    doc = "Whether records that the Kinesis Producer Library has aggregated are taken apart into their user records " +
      "(see [Aggregated records](../concepts/aggregation.md)). With `false` they come as they are.",
    values = Seq("true", "false")
  )

  val maxRecordsPerTrigger: Opt[Long] = option(
    "maxRecordsPerTrigger",
    "count",
    OptionValue.count,
    doc =
      "The most Kinesis records in one micro-batch, over all shards; an aggregated record counts as one. Never more; " +
        "somewhat fewer where that spares work: a shard's part is at most about 3% short, or 25% with thousands of shards. " +
        "It takes no more than the readers hold, as nothing else is counted: see `readerBufferSize`."
  )

  val maxBytesPerTrigger: Opt[Long] = option(
    "maxBytesPerTrigger",
    "size",
    OptionValue.size,
    doc =
      "The most bytes of data in one micro-batch, over all shards, such as `256m`. A larger record makes a batch of " +
        "its own. Otherwise never more; somewhat less as with `maxRecordsPerTrigger`. It takes no more than the readers " +
        "hold, as nothing else is counted: see `readerBufferSize`."
  )

  val minRecordsPerTrigger: Opt[Long] = option(
    "minRecordsPerTrigger",
    "count",
    OptionValue.count,
    doc = "A micro-batch waits until so many Kinesis records are there, or `maxTriggerDelay` is over."
  )

  val maxTriggerDelay: Opt[FiniteDuration] = option(
    "maxTriggerDelay",
    "duration",
    OptionValue.duration,
    default = Some("15m"),
    doc = "How long a micro-batch waits for `minRecordsPerTrigger` at most."
  )

  val maxShardSkew: Opt[Option[FiniteDuration]] = option(
    "maxShardSkew",
    "duration",
    OptionValue.durationOrOff,
    default = Some("10s"),
    doc =
      "How far a micro-batch may go ahead in one shard of where it ends in the slowest, by the times at which records " +
        "arrived in the stream. Less than the delay of the query's watermark, it keeps a catch-up from making the slower " +
        "shards' records late. Shards that are caught up or closed hold nobody back. `off` or `0` for no such bound."
  )

  // ListShards may be called 1,000 times a second per stream; the limit here only stops a busy loop.
  val shardDiscoveryInterval: Opt[FiniteDuration] = option(
    "shardDiscoveryInterval",
    "duration",
    OptionValue.durationAtLeast(100.millis),
    default = Some("10s"),
    doc = "How often the shards of each stream are listed, to find those of a split or merge; at least 100 ms."
  )

  val minPartitions: Opt[Int] = option(
    "minPartitions",
    "count",
    OptionValue.smallCount,
    default = Some("1"),
    doc =
      "The least number of tasks for a micro-batch, as far as it has records enough. Left at 1, tasks follow bytes and " +
        "cores, and a shard has one task at most. With more, what a shard brings is cut into parts of their own tasks, in " +
        "order, where there are fewer shards, but not with `Trigger.Once`, nor when a batch is run again after a " +
        "restart. A batch read has a task for each shard, and with more parts of the same time."
  )

  val realTimeReservedCores: Opt[Int] = option(
    "realTime.reservedCores",
    "count",
    OptionValue.countOrZero,
    default = None,
    doc =
      "Cores that the tasks of a real-time batch leave to others: all stages of such a batch run at once. Left out, it is " +
        "`spark.sql.shuffle.partitions` for each operator of the query that shuffles, which Spark 4.3 can run."
  )

  val cloudWatchNamespace: Opt[String] = option(
    "cloudWatch.namespace",
    "string",
    OptionValue.matching(
      "(?!AWS/)[A-Za-z0-9._/#:-]{1,255}",
      "a namespace of CloudWatch, of letters, digits and ._/#:-, that doesn't begin with AWS/"
    ),
    doc =
      "The namespace in CloudWatch under which the source's metrics are published, with the names of its streams as the dimension " +
        "`Streams`. Left out, nothing is published and no call is made. AWS charges for each metric, and for each call."
  )

  val cloudWatchInterval: Opt[FiniteDuration] = option(
    "cloudWatch.interval",
    "duration",
    OptionValue.durationAtLeast(1.second),
    default = Some("1m"),
    doc = "How often metrics are published to CloudWatch: one call of PutMetricData each time."
  )

  val cloudWatchEndpoint: Opt[URI] = option(
    "cloudWatch.endpoint",
    "uri",
    OptionValue.endpoint,
    doc = "The address of CloudWatch instead of the region's own: a VPC endpoint or a local server."
  )

  val callsPerSecond: Opt[Int] = option(
    "polling.callsPerSecond",
    "count",
    OptionValue.countUpTo(5),
    default = Some("5"),
    doc = "How many GetRecords calls a second a shard with records gets at most, from 1 to 5. The service takes 5, from all who " +
      "poll the shard together: give less where others poll the stream, too. An idle shard gets one, or less where an " +
      "executor has more than 250 of them. At 5, a shard that gives more than the service's 2 MiB a second, as on a local server, is " +
      "called without a pause until it refuses a call."
  )

  // The least that holds one full answer of GetRecords (10 MB) with room for the next one to arrive.
  val readerBufferSize: Opt[Long] = option(
    "readerBufferSize",
    "size",
    OptionValue.sizeAtLeast(16L << 20, "16m"),
    doc =
      "Memory for records that are read but not yet in a batch, in one executor, at least `16m`; by default a fifth of its heap, of which Spark's 300 MiB don't count. " +
        "All sources and queries of an executor share the largest that one of them asks for. Full buffers stop reading until batches " +
        "catch up."
  )

  val profile: Opt[String] = option(
    "profile",
    "string",
    OptionValue.text,
    doc =
      "A profile of the shared AWS configuration files, which must be on the driver and all executors. One of SSO or `aws login` needs " +
        "the login's files there, too.",
    scope = Both,
    perStream = true
  )

  val accessKeyId: Opt[Secret] = option(
    "accessKeyId",
    "string",
    OptionValue.secret,
    doc =
      "Static credentials, together with `secretAccessKey`. A role or a profile is safer. Each of the keys may be `alias:<name>`: it is then " +
        "what Hadoop's credential providers (`hadoop.security.credential.provider.path`) have under that name.",
    scope = Both,
    perStream = true,
    secret = true,
    aliases = Seq("awsAccessKey")
  )

  val secretAccessKey: Opt[Secret] = option(
    "secretAccessKey",
    "string",
    OptionValue.secret,
    doc = "Static credentials, together with `accessKeyId`.",
    scope = Both,
    perStream = true,
    secret = true,
    aliases = Seq("awsSecretKey")
  )

  val sessionToken: Opt[Secret] = option(
    "sessionToken",
    "string",
    OptionValue.secret,
    doc =
      "The session token of temporary static credentials. They aren't refreshed: for a query that outlives them, use " +
        "`roleArn`, `profile` or `credentialsProvider`.",
    scope = Both,
    perStream = true,
    secret = true
  )

  val credentialsProvider: Opt[String] = option(
    "credentialsProvider",
    "class",
    OptionValue.matching(
      """[\p{javaJavaIdentifierStart}][\p{javaJavaIdentifierPart}.]*""",
      "the full name of a class such as com.example.MyCredentials"
    ),
    doc = "A class of your own that gives credentials: an `AwsCredentialsProvider` of the AWS SDK for Java 2, or an " +
      "`AWSCredentialsProvider` of version 1, with a static method `create()` or a constructor: without arguments, of Hadoop's `Configuration`, of a " +
      "`URI` (the endpoint, or null) and that, or of a `Map` of its parameters. It must be on the class path of the driver and the executors. It is asked once a second at most, on a thread of its own, and its " +
      "credentials are used for a minute at most.",
    scope = Both,
    perStream = true
  )

  val providerParameter: Opt[Secret] = option(
    "credentialsProvider.<parameter>",
    "string",
    OptionValue.secret,
    doc =
      "A parameter of that class, which then needs a static method `create` or a constructor that takes a `java.util.Map` of them, or a " +
        "`Configuration` and such a map. Their names may come in lower case. Put `secret`, `password` or `token` into the names of secret ones: Spark's plans " +
        "show others.",
    scope = Both,
    perStream = true,
    secret = true
  )

  val webIdentityTokenFile: Opt[String] = option(
    "webIdentityTokenFile",
    "string",
    OptionValue.text,
    doc =
      "A file with the token of an identity provider, on the driver and all executors, which `roleArn` (or the first of `roleChain`) is " +
        "assumed with. The default chain finds what the environment names (AWS_WEB_IDENTITY_TOKEN_FILE) by itself.",
    scope = Both,
    perStream = true
  )

  val roleArn: Opt[String] = option(
    "roleArn",
    "arn",
    OptionValue.roleArn,
    doc = "A role to assume with the credentials that the other options (or the default chain) give, for a stream of " +
      "another account, for example. Its credentials are refreshed.",
    scope = Both,
    perStream = true
  )

  val roleChain: Opt[Seq[ChainedRole]] = option(
    "roleChain",
    "list",
    OptionValue.list[ChainedRole](OptionValue.chainedRole(_).left.map(form => s"must be $form"), _.arn),
    doc =
      "Roles to assume before `roleArn`, comma-separated, each with the credentials of the one before. The external ID that a role's " +
        "trust policy asks for follows its ARN after a space.",
    scope = Both,
    perStream = true
  )

  val externalId: Opt[String] = option(
    "externalId",
    "string",
    OptionValue.externalId,
    doc = "The external ID that the role's trust policy asks for. Those of a `roleChain` stand there.",
    scope = Both,
    perStream = true,
    aliases = Seq("roleExternalId")
  )

  val roleSessionName: Opt[String] = option(
    "roleSessionName",
    "string",
    OptionValue.matching("[\\w+=,.@-]{2,64}", "2 to 64 letters, digits and characters of _+=,.@-"),
    default = Some("kinesis-spark"),
    doc = "The name of the role's session, which CloudTrail shows.",
    scope = Both,
    perStream = true
  )

  val roleDuration: Opt[FiniteDuration] = option(
    "roleDuration",
    "duration",
    OptionValue.durationBetween(15.minutes, 12.hours),
    doc =
      "How long the role's credentials live: 15 minutes to 12 hours, and no longer than the role allows. The default is one hour, which is also the " +
        "most after a `roleChain`. They are renewed in time.",
    scope = Both,
    perStream = true
  )

  val roleTags: Opt[Map[String, String]] = option(
    "roleTags",
    "map",
    OptionValue.tags(50),
    doc = "Tags of the role's session, such as `team=data,env=prod`. Needs the permission `sts:TagSession`.",
    scope = Both,
    perStream = true
  )

  val roleSourceIdentity: Opt[String] = option(
    "roleSourceIdentity",
    "string",
    OptionValue.matching("[\\w+=,.@-]{2,64}", "2 to 64 letters, digits and characters of _+=,.@-"),
    doc =
      "The source identity of the role's session, which CloudTrail shows and which stays over a `roleChain`. Needs the permission " +
        "`sts:SetSourceIdentity`.",
    scope = Both,
    perStream = true
  )

  val stsRegion: Opt[String] = option(
    "stsRegion",
    "string",
    OptionValue.region,
    doc =
      "The region whose STS is asked for roles: `roleArn`, or a profile's. Left out, it is the profile's, or else the stream's.",
    scope = Both
  )

  val stsEndpoint: Opt[URI] = option(
    "stsEndpoint",
    "uri",
    OptionValue.endpoint,
    doc = "The address of STS, for the same roles, instead of the region's own: a VPC endpoint or a local server.",
    scope = Both
  )

  val fips: Opt[Boolean] = option(
    "fips",
    "boolean",
    OptionValue.boolean,
    default = Some("false"),
    doc = "Whether endpoints with cryptography by FIPS 140 are called. Not with `endpoint`.",
    scope = Both,
    values = Seq("true", "false")
  )

  val dualStack: Opt[Boolean] = option(
    "dualStack",
    "boolean",
    OptionValue.boolean,
    default = Some("false"),
    doc = "Whether endpoints for IPv4 and IPv6 are called. Not with `endpoint`.",
    scope = Both,
    values = Seq("true", "false")
  )

  val caBundle: Opt[String] = option(
    "caBundle",
    "string",
    OptionValue.text,
    doc =
      "A PEM file, on the driver and all executors, with the certificates of the authorities that are trusted, in place of the JVM's.",
    scope = Both
  )

  val proxy: Opt[URI] = option(
    "proxy",
    "uri",
    OptionValue.endpoint,
    doc =
      "The HTTP proxy that all calls go through, such as `http://proxy.example.com:3128`. Left out, it is what `https.proxyHost` and its " +
        "like, or HTTPS_PROXY and its like, say.",
    scope = Both
  )

  val proxyUser: Opt[String] = option(
    "proxyUser",
    "string",
    OptionValue.text,
    doc = "The user that the proxy asks for.",
    scope = Both
  )

  val proxyPassword: Opt[Secret] = option(
    "proxyPassword",
    "string",
    OptionValue.secret,
    doc = "The password of `proxyUser`, which may be `alias:<name>` as the keys may.",
    scope = Both,
    secret = true
  )

  val noProxy: Opt[Seq[String]] = option(
    "noProxy",
    "list",
    OptionValue.list(OptionValue.host, identity[String]),
    doc =
      "Hosts that are called without `proxy`, comma-separated: names, or `*.` with the end of a name. Calls that name a stream by its ARN go " +
        "to a host of its account, such as `111122223333.data-kinesis.eu-west-1.amazonaws.com`.",
    scope = Both
  )

  val connectTimeout: Opt[FiniteDuration] = option(
    "connectTimeout",
    "duration",
    OptionValue.durationAtLeast(100.millis),
    default = Some("10s"),
    doc = "How long making a connection may take.",
    scope = Both
  )

  val readTimeout: Opt[FiniteDuration] = option(
    "readTimeout",
    "duration",
    OptionValue.durationAtLeast(1.second),
    doc =
      "How long a call may be without a byte of its answer; left out, 30 seconds, and 60 for PutRecords, which may store its records twice " +
        "when it is given up. Subscriptions have their own.",
    scope = Both
  )

  val maxConnections: Opt[Int] = option(
    "maxConnections",
    "count",
    OptionValue.smallCount,
    default = Some("512"),
    doc =
      "How many calls of one client, shared by all tasks of an executor, may be under way at once; others wait. Subscriptions don't count.",
    scope = Both
  )

  val applicationId: Opt[String] = option(
    "applicationId",
    "string",
    OptionValue.matching("[A-Za-z0-9!$%&*+.^_`|~'-]{1,50}", "1 to 50 letters, digits and characters of !$%&*+-.^_`|~'"),
    doc = "A name of the application in the user agent of all calls, which CloudTrail shows.",
    scope = Both
  )

  val consumerName: Opt[String] = option(
    "efo.consumerName",
    "string",
    OptionValue.matching("[A-Za-z0-9_.-]{1,128}", "1 to 128 letters, digits, dots, hyphens and underscores"),
    doc =
      "The stream consumer to read through, found or registered by this name in each stream; at any time, one query " +
        "reads through it. Required with `efo`, unless each stream has an `efo.consumerArn.<stream>`."
  )

  val registration: Opt[Option[RegistrationTime]] = option(
    "efo.registration",
    "enum",
    OptionValue.oneOf(
      "lazy"  -> Some(RegistrationTime.Lazy),
      "eager" -> Some(RegistrationTime.Eager),
      "none"  -> None
    ),
    default = Some("lazy"),
    doc = "When the consumer is registered, if it doesn't exist: `lazy` when the query starts, `eager` already at " +
      "`load()`, `none` never: each stream then needs an `efo.consumerArn.<stream>`.",
    values = Seq("lazy", "eager", "none")
  )

  val consumerArn: Opt[ConsumerArn] = option(
    "efo.consumerArn.<stream>",
    "arn",
    OptionValue.consumerArn,
    doc =
      "The ARN of a consumer that is registered already, to read the stream of that name (or ARN) through. It is never " +
        "deregistered by the query."
  )

  val deregisterOnStop: Opt[Deregistration] = option(
    "efo.deregisterOnStop",
    "enum",
    OptionValue.oneOf(
      "registered" -> Deregistration.OfRegistered,
      "true"       -> Deregistration.OfAll,
      "false"      -> Deregistration.OfNone
    ),
    default = Some("registered"),
    doc =
      "Which consumers given by name a query deregisters when it stops, ends or fails: `registered` those that its runs " +
        s"from this checkpoint have registered, known by their tag `${FanOutOptions.OwnerTag}`; `true` also those that it found; `false` none. After " +
        "a crash a consumer stays, and is charged for, until the end of the next run. Not `true` with `none`.",
    values = Seq("registered", "true", "false")
  )

  val consumerTags: Opt[Map[String, String]] = option(
    "efo.tags",
    "map",
    OptionValue.tags(FanOutOptions.MostTags),
    doc = "Tags of the consumers that the query registers, such as `team=data,env=prod`: at most 49, or 50 with `efo.deregisterOnStop` `false`. " +
      s"Consumers that it finds keep theirs. Needs the permission `kinesis:TagResource`. The key `${FanOutOptions.OwnerTag}` is the connector's own."
  )

  /** How each call of AWS is retried, by the call's name in the service's API: this table is the only place that knows their defaults. The
    * waits of the consumers' calls are those of FLIP-128, which has neither DescribeStreamConsumer nor calls of tags. Flink's connector came to wait 2 s in its place;
    * a consumer may be ACTIVE sooner, and a stream may be asked 20 times a second. Those of the credentials' calls are the AWS SDK's.
    */
  val retries: Seq[RetryOpts] = Seq(
    retry("DescribeStreamSummary", Source, "300ms", "5s", "2.0"),
    retry(
      "ListShards",
      Both,
      "300ms",
      "5s",
      "2.0",
      notes = "A listing of new shards that fails is repeated by the next."
    ),
    retry("GetShardIterator", Source, "250ms", "5s", "2.0", notes = "Refusals by a limit don't count."),
    retry(
      "GetRecords",
      Source,
      "250ms",
      "5s",
      "2.0",
      notes = "Counted in a row of a shard, with GetShardIterator's failures. Refusals by a limit don't count."
    ),
    retry(
      "SubscribeToShard",
      Source,
      "1s",
      "2s",
      "1.5",
      notes =
        "Counted in a row of a shard without an event between. Refusals by a limit, or because of another subscription, don't count."
    ),
    retry("RegisterStreamConsumer", Source, "200ms", "1s", "1.5"),
    retry(
      "DescribeStreamConsumer",
      Source,
      "200ms",
      "5s",
      "1.5",
      notes = "Waits for a consumer that is CREATING or DELETING count as well."
    ),
    retry("ListStreamConsumers", Source, "200ms", "1s", "1.5"),
    retry("DeregisterStreamConsumer", Source, "200ms", "1s", "1.5"),
    retry("ListTagsForResource", Source, "200ms", "1s", "1.5", notes = "For 30 s at most."),
    retry("TagResource", Source, "200ms", "1s", "1.5", notes = "For 30 s at most."),
    retry(
      "PutRecords",
      Sink,
      "200ms",
      "10s",
      "2.0",
      notes =
        "Counted in a row of a task and stream. Calls refused by a limit don't count; single records that a shard " +
          "refuses are sent again at that shard's pace."
    ),
    retry("PutMetricData", Source, "200ms", "5s", "2.0", Some("0"), "Within `cloudWatch.interval`."),
    ofCredentials("AssumeRole"),
    ofCredentials("AssumeRoleWithWebIdentity"),
    ofCredentials("GetRoleCredentials"),
    ofCredentials("CreateToken"),
    ofCredentials("CreateOAuth2Token")
  )

  val ordered: Opt[Boolean] = option(
    "ordered",
    "boolean",
    OptionValue.boolean,
    default = Some("false"),
    doc =
      "Whether the records of a partition key come into the stream in the order in which a task has their rows. Of each key " +
        "one record is then under way at a time, so that few keys make few records a call.",
    scope = Sink,
    values = Seq("true", "false")
  )

  val aggregate: Opt[Boolean] = option(
    "aggregate",
    "boolean",
    OptionValue.boolean,
    default = Some("false"),
    doc =
      "Whether rows for the same shard share Kinesis records, in the KPL's format. A shard takes 1,000 records a second, however " +
        "small; aggregated ones hold hundreds of rows. Readers have to take them apart, as this source and the KCL do. Needs " +
        "the permission `kinesis:ListShards`.",
    scope = Sink,
    values = Seq("true", "false")
  )

  val aggregateSize: Opt[Int] = option(
    "aggregateSize",
    "size",
    OptionValue.sizeBetween(1L << 10, "1k", 1L << 20, "1m")(_).map(_.toInt),
    default = Some("50k"),
    doc =
      "With `aggregate`: how large an aggregated record may become, from `1k` to `1m`. A row beyond it is a record by itself.",
    scope = Sink
  )

  val badRecords: Opt[BadRecords] = option(
    "badRecords",
    "enum",
    OptionValue.oneOf("fail" -> BadRecords.Fail, "skip" -> BadRecords.Skip),
    default = Some("fail"),
    doc =
      "What becomes of a row that can never be written (too large, null data, an impossible key): `fail` fails its task before " +
        "the call that it would be part of; `skip` counts it, logs samples and continues.",
    scope = Sink,
    values = Seq("fail", "skip")
  )

  val maxRetryDuration: Opt[FiniteDuration] = option(
    "maxRetryDuration",
    "duration",
    OptionValue.duration,
    default = Some("15m"),
    doc = "How long calls are retried, from the first failure in a row, before the query fails: HTTP 5xx, lost connections, DNS, TLS and " +
      "whatever else can pass. The sink counts from the first refusal of a record. Throttled reads are retried without end, and what cannot pass, such as " +
      "a missing permission, fails at once. A host, port or certificate that has never worked fails after a few attempts.",
    scope = Both
  )

  val writerBufferSize: Opt[Long] = option(
    "writerBufferSize",
    "size",
    OptionValue.sizeAtLeast(1L << 20, "1m"),
    default = Some("32m"),
    doc =
      "Memory for records of a task that wait or are on their way to the service, at least `1m`. While it is full, the task " +
        "computes no further rows.",
    scope = Sink
  )

  val maxInFlightCalls: Opt[Int] = option(
    "maxInFlightCalls",
    "count",
    OptionValue.smallCount,
    default = Some("8"),
    doc = "How many PutRecords calls of a task may be under way at once.",
    scope = Sink
  )

  val linger: Opt[FiniteDuration] = option(
    "linger",
    "duration",
    OptionValue.durationAtLeast(1.millis),
    doc =
      "How long a row of a streaming query waits for others to go with it, at most. Left out, it is `10ms`, or `100ms` with " +
        "`aggregate`, as the KPL's. A batch write waits for full calls.",
    scope = Sink
  )

  private[config] val opts: Seq[Opt[?]] = Seq(
    streamName,
    streamArn,
    region,
    endpoint,
    startingPosition,
    endingPosition,
    recordPublisher,
    failOnDataLoss,
    deaggregate,
    maxRecordsPerTrigger,
    maxBytesPerTrigger,
    minRecordsPerTrigger,
    maxTriggerDelay,
    maxShardSkew,
    shardDiscoveryInterval,
    minPartitions,
    realTimeReservedCores,
    callsPerSecond,
    cloudWatchNamespace,
    cloudWatchInterval,
    cloudWatchEndpoint,
    readerBufferSize,
    profile,
    accessKeyId,
    secretAccessKey,
    sessionToken,
    credentialsProvider,
    providerParameter,
    webIdentityTokenFile,
    roleArn,
    roleChain,
    externalId,
    roleSessionName,
    roleDuration,
    roleTags,
    roleSourceIdentity,
    stsRegion,
    stsEndpoint,
    fips,
    dualStack,
    caBundle,
    proxy,
    proxyUser,
    proxyPassword,
    noProxy,
    connectTimeout,
    readTimeout,
    maxConnections,
    applicationId,
    consumerName,
    registration,
    consumerArn,
    deregisterOnStop,
    consumerTags
  ) ++ retries.flatMap(_.all) ++
    Seq(ordered, aggregate, aggregateSize, badRecords, maxRetryDuration, writerBufferSize, maxInFlightCalls, linger)

  /** All of them, in the order of the documentation. */
  val all: Seq[OptionDefinition] = opts.map(_.definition)

  private def ofCredentials(call: String): RetryOpts =
    retry(
      call,
      Both,
      "100ms",
      "20s",
      "2.0",
      Some("3"),
      "Within a minute; then the call that waits for the credentials is retried."
    )

  private def retry(
      call: String,
      scope: OptionScope,
      longestAtFirst: String,
      longest: String,
      growth: String,
      attempts: Option[String] = None,
      notes: String = ""
  ): RetryOpts = {
    val prefix = RetryOpts.prefix(call)
    RetryOpts(
      call,
      notes,
      maxRetries = option(
        s"$prefix.maxRetries",
        "count",
        OptionValue.countOrZero,
        default = attempts,
        doc = s"The most retries of $call in a row.",
        scope = scope
      ),
      base = option(
        s"$prefix.backoff.base",
        "duration",
        OptionValue.durationAtLeast(1.millis),
        default = Some(longestAtFirst),
        doc = s"The longest wait before the second attempt of $call.",
        scope = scope
      ),
      max = option(
        s"$prefix.backoff.max",
        "duration",
        OptionValue.durationAtLeast(1.millis),
        default = Some(longest),
        doc = s"The longest wait before any attempt of $call.",
        scope = scope
      ),
      factor = option(
        s"$prefix.backoff.expConst",
        "number",
        OptionValue.numberAtLeast(1.0),
        default = Some(growth),
        doc = s"By which the longest wait grows from one attempt of $call to the next.",
        scope = scope
      )
    )
  }

  private def option[A](
      name: String,
      valueType: String,
      parse: OptionValue.Parser[A],
      doc: String,
      default: Option[String] = None,
      since: String = "0.1.0",
      scope: OptionScope = Source,
      secret: Boolean = false,
      perStream: Boolean = false,
      values: Seq[String] = Nil,
      aliases: Seq[String] = Nil
  ): Opt[A] =
    new Opt(OptionDefinition(name, valueType, default, doc, since, scope, secret, perStream, values, aliases), parse)
}
