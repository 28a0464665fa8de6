package io.github.kinesisspark.config

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}
import java.net.URI
import java.time.Instant

import io.github.kinesisspark.position.{ShardPosition, StreamArn}
import org.scalatest.funsuite.AnyFunSuite

import scala.concurrent.duration._

import CredentialsOptions._

class SourceOptionsTest extends AnyFunSuite {

  private val ordersArn = "arn:aws:kinesis:eu-west-1:000000000000:stream/orders"
  private val clicksArn = "arn:aws:kinesis:us-east-1:123456789012:stream/clicks"
  private val role      = "arn:aws:iam::123456789012:role/reader"

  private def parse(options: (String, String)*): SourceOptions = SourceOptions.parse(options.toMap)

  private def events(options: (String, String)*): SourceOptions = parse((options :+ ("streamName" -> "events"))*)

  private def credentials(options: (String, String)*): CredentialsOptions = events(
    options*
  ).streams.head.client.credentials

  private def problems(options: (String, String)*): Seq[String] = {
    val e = intercept[OptionException](parse(options*))
    assert(e.getMessage.startsWith("[KINESIS_INVALID_OPTION] "))
    e.problems
  }

  /** The only problem of a source that is otherwise right. */
  private def problem(options: (String, String)*): String = {
    val reported = problems((options :+ ("streamName" -> "events"))*)
    assert(reported.size == 1, reported)
    reported.head
  }

  private def assertReports(text: String, words: String*): Unit = words.foreach(word => assert(text.contains(word)))

  test("streamName is the only required source option, and all others have their defaults") {
    assert(
      parse("streamName" -> "events") == SourceOptions(
        Seq(StreamOptions(StreamRef.ByName("events"), ClientOptions(None, None, DefaultChain))),
        ClientOptions(None, None, DefaultChain),
        fanOut = None,
        failOnDataLoss = true,
        deaggregate = true,
        AdmissionOptions(None, None, None, 15.minutes, Some(10.seconds)),
        shardDiscoveryInterval = 10.seconds,
        minPartitions = 1,
        reservedCores = None,
        polling = PollingOptions(callsPerSecond = 5),
        readerBufferSize = None,
        cloudWatch = None
      )
    )
  }

  test("every source option is parsed") {
    val options = parse(
      "streamName"             -> "events",
      "region"                 -> "eu-central-1",
      "endpoint"               -> "http://localhost:4567",
      "startingPosition"       -> "TRIM_HORIZON",
      "recordPublisher"        -> "POLLING",
      "failOnDataLoss"         -> "false",
      "deaggregate"            -> "false",
      "maxRecordsPerTrigger"   -> "1000",
      "maxBytesPerTrigger"     -> "64m",
      "minRecordsPerTrigger"   -> "10",
      "maxTriggerDelay"        -> "30 seconds",
      "maxShardSkew"           -> "1m",
      "shardDiscoveryInterval" -> "1s",
      "minPartitions"          -> "8",
      "realTime.reservedCores" -> "0",
      "polling.callsPerSecond" -> "2",
      "readerBufferSize"       -> "16m",
      "maxRetryDuration"       -> "1h",
      "cloudWatch.namespace"   -> "streams",
      "cloudWatch.interval"    -> "5m"
    )
    val client = ClientOptions(
      Some("eu-central-1"),
      Some(new URI("http://localhost:4567")),
      DefaultChain,
      ConnectionOptions(retries = CallRetries.default.within(1.hour))
    )
    assert(
      options == SourceOptions(
        Seq(StreamOptions(StreamRef.ByName("events"), client, Some(StartingPosition.TrimHorizon))),
        client,
        fanOut = None,
        failOnDataLoss = false,
        deaggregate = false,
        AdmissionOptions(Some(1000), Some(64L << 20), Some(10), 30.seconds, Some(1.minute)),
        1.second,
        8,
        Some(0),
        PollingOptions(2),
        Some(16L << 20),
        Some(CloudWatchOptions("streams", 5.minutes, None))
      )
    )
  }

  test("maxShardSkew is on by default, and off, 0 and 0s turn it off") {
    assert(events().admission.maxShardSkew.nonEmpty)
    for (word <- Seq("off", "OFF", "0", "0s")) assert(events("maxShardSkew" -> word).admission.maxShardSkew.isEmpty)
    assertReports(problem("maxShardSkew" -> "much"), "10 seconds", "off", "'much'")
  }

  test("option names are matched in any case") {
    val options =
      parse("STREAMNAME" -> "events", "startingposition" -> "trim_horizon", "Stream.Events.Region" -> "eu-west-1")
    assert(options.streams.head.startingPosition.contains(StartingPosition.TrimHorizon))
    assert(options.streams.head.client.region.contains("eu-west-1"))
  }

  test("aliases known from another connector are accepted") {
    val keys = credentials("awsAccessKey" -> "a", "awsSecretKey" -> "b")
    assert(keys == StaticKeys(new Secret("a"), new Secret("b"), None))
    assert(
      events("initialPosition" -> "trim_horizon").streams.head.startingPosition.contains(StartingPosition.TrimHorizon)
    )
  }

  test("spaces around values are trimmed, and a null value counts as not set") {
    assert(events("region" -> " eu-west-1 ").streams.head.client.region.contains("eu-west-1"))
    assert(events("region" -> null).streams.head.client.region.isEmpty)
  }

  test("options that Spark adds itself are ignored") {
    assert(events("path" -> "/warehouse/t", "paths" -> "[]", "__spark_internal" -> "x") == events())
  }

  test("several streams keep their given order") {
    assert(parse("streamName" -> "b, a ,c").streams.map(_.stream.name) == Seq("b", "a", "c"))
    val arns = parse("streamArn" -> s"$ordersArn,$clicksArn").streams
    assert(arns.map(_.stream.arn) == Seq(StreamArn.parse(ordersArn), StreamArn.parse(clicksArn)))
    assert(arns.forall(_.client.region.isEmpty))
  }

  test("a per-stream option applies to its stream only and overrides the general option") {
    val Seq(a, b) = parse(
      "streamName"                -> "a,b.c",
      "region"                    -> "eu-west-1",
      "startingPosition"          -> "TRIM_HORIZON",
      "stream.b.c.region"         -> "us-east-1",
      "stream.b.c.roleArn"        -> role,
      "stream.b.c.externalId"     -> "id-1",
      "stream.a.startingPosition" -> "AT_TIMESTAMP:1000"
    ).streams: @unchecked
    assert(a.client == ClientOptions(Some("eu-west-1"), None, DefaultChain))
    assert(a.startingPosition.contains(StartingPosition.AtTimestamp(Instant.ofEpochMilli(1000))))
    assert(
      b.client == ClientOptions(Some("us-east-1"), None, AssumeRole(DefaultChain, role, Some("id-1"), "kinesis-spark"))
    )
    assert(b.startingPosition.contains(StartingPosition.TrimHorizon))
  }

  test("options of two streams of one name in two regions are given by stream ARN") {
    val east    = "arn:aws:kinesis:us-east-1:123456789012:stream/events"
    val west    = "arn:aws:kinesis:us-west-2:123456789012:stream/events"
    val both    = "streamArn" -> s"$east,$west"
    val options = parse(both, s"stream.$west.startingPosition" -> "TRIM_HORIZON")
    assert(options.streams.map(_.startingPosition) == Seq(None, Some(StartingPosition.TrimHorizon)))
    assertReports(
      problems(both, "stream.events.startingPosition" -> "LATEST").head,
      "may be",
      east,
      west,
      "Write its ARN instead of its name"
    )
    val unconsumed = problems(both, "recordPublisher" -> "efo", "efo.registration" -> "none")
    assertReports(unconsumed.mkString, s"'efo.consumerArn.$east'", s"'efo.consumerArn.$west'")
  }

  test("the general client options don't contain per-stream options") {
    val options = parse(
      "streamName"      -> "a",
      "region"          -> "eu-west-1",
      "roleArn"         -> role,
      "stream.a.region" -> "us-east-1",
      "endpoint"        -> "http://localhost:4567"
    )
    val general =
      ClientOptions(
        Some("eu-west-1"),
        Some(new URI("http://localhost:4567")),
        AssumeRole(DefaultChain, role, None, "kinesis-spark")
      )
    assert(options.client == general)
    assert(options.streams.map(_.client) == Seq(general.copy(region = Some("us-east-1"))))
  }

  test("stream names that differ only in case take separate options, and an ambiguous name is refused") {
    val options = parse(
      "streamName"           -> "Events,events",
      "stream.events.region" -> "eu-west-1",
      "stream.Events.region" -> "us-east-1"
    )
    assert(options.streams.map(_.client.region) == Seq(Some("us-east-1"), Some("eu-west-1")))
    assert(problems("streamName" -> "Events,events", "stream.EVENTS.region" -> "eu-west-1").head.contains("may be"))
  }

  test("credentials are parsed as default chain, profile, provider class or static keys") {
    assert(credentials() == DefaultChain)
    assert(credentials("profile" -> "dev") == Profile("dev"))
    assert(credentials("credentialsProvider" -> "com.example.Mine$Inner") == ProviderClass("com.example.Mine$Inner"))
    assert(
      credentials("accessKeyId" -> "a", "secretAccessKey" -> "b", "sessionToken" -> "c") ==
        StaticKeys(new Secret("a"), new Secret("b"), Some(new Secret("c")))
    )
  }

  test("a role is assumed on top of the default chain or a profile") {
    assert(credentials("roleArn" -> role) == AssumeRole(DefaultChain, role, None, "kinesis-spark"))
    assert(
      credentials("roleArn" -> role, "externalId" -> "x-1", "roleSessionName" -> "job", "profile" -> "dev") ==
        AssumeRole(Profile("dev"), role, Some("x-1"), "job")
    )
  }

  test("a stream's own credentials take the place of the general ones as a whole") {
    val general = Seq("accessKeyId" -> "k", "secretAccessKey" -> "s", "sessionToken" -> "t")
    val parsed  = parse(
      general ++ Seq(
        "streamName"                           -> "a,b,c.d,e,f",
        "stream.a.accessKeyId"                 -> "ka",
        "stream.A.secretAccessKey"             -> "sa",
        "stream.b.profile"                     -> "dev",
        "stream.b.roleArn"                     -> role,
        "stream.c.d.credentialsProvider"       -> "com.example.Mine",
        "stream.c.d.credentialsProvider.vault" -> "https://vault",
        "stream.e.webIdentityTokenFile"        -> "/token",
        "stream.e.roleArn"                     -> role
      ): _*
    )
    def keys(id: String, secret: String, token: Option[String]) =
      StaticKeys(new Secret(id), new Secret(secret), token.map(new Secret(_)))
    assert(
      parsed.streams.map(_.client.credentials) == Seq(
        keys("ka", "sa", None),
        AssumeRole(Profile("dev"), role, None, "kinesis-spark"),
        ProviderClass("com.example.Mine", Map("vault" -> new Secret("https://vault"))),
        AssumeRole(WebIdentity("/token"), role, None, "kinesis-spark"),
        keys("k", "s", Some("t"))
      )
    )
    assert(parsed.client.credentials == keys("k", "s", Some("t")))
    def assertRefused(options: (String, String)*)(words: String*): Unit =
      assertReports(problem((general ++ options): _*), words: _*)
    assertRefused("stream.events.accessKeyId" -> "x")(
      "'stream.events.accessKeyId' is given without 'stream.events.secretAccessKey'"
    )
    assertRefused("stream.events.sessionToken" -> "x")(
      "without 'stream.events.accessKeyId' and 'stream.events.secretAccessKey'"
    )
    assertRefused("stream.events.profile" -> "dev", "stream.events.credentialsProvider" -> "a.B")(
      "'stream.events.profile' and 'stream.events.credentialsProvider' contradict"
    )
    assertRefused("stream.events.credentialsProvider.vault" -> "x")(
      "'stream.events.credentialsProvider.vault' is given without 'stream.events.credentialsProvider'"
    )
    assertRefused("stream.evnets.credentialsProvider.vault" -> "x")("'evnets' is not read here")
  }

  test("a chain of roles, a web identity and a role's session are parsed") {
    val first   = "arn:aws:iam::111111111111:role/first"
    val session = RoleSession(Some(30.minutes), Map("team" -> "data"), Some("alice"))
    assert(
      credentials(
        "roleArn"            -> role,
        "roleChain"          -> s"$first first-id",
        "externalId"         -> "x-1",
        "roleDuration"       -> "30m",
        "roleTags"           -> "team=data",
        "roleSourceIdentity" -> "alice"
      ) == AssumeRole(
        AssumeRole(DefaultChain, first, Some("first-id"), "kinesis-spark", RoleSession(None, Map.empty, Some("alice"))),
        role,
        Some("x-1"),
        "kinesis-spark",
        session
      )
    )
    assert(
      credentials("roleArn" -> role, "webIdentityTokenFile" -> "/token") ==
        AssumeRole(WebIdentity("/token"), role, None, "kinesis-spark")
    )
    assert(
      credentials("credentialsProvider" -> "com.example.Mine", "credentialsProvider.vault" -> "https://vault") ==
        ProviderClass("com.example.Mine", Map("vault" -> new Secret("https://vault")))
    )
  }

  test("a general web identity is accepted where each stream has a role") {
    val roles                            = Seq("stream.a.roleArn" -> role, "stream.b.roleArn" -> s"$role-b")
    def parsed(roles: (String, String)*) =
      parse(Seq("streamName" -> "a,b", "webIdentityTokenFile" -> "/token") ++ roles: _*)
    assert(
      parsed(roles: _*).streams.map(_.client.credentials) ==
        Seq(role, s"$role-b").map(AssumeRole(WebIdentity("/token"), _, None, "kinesis-spark"))
    )
    assertReports(
      intercept[OptionException](parsed(roles.head)).problems.mkString("\n"),
      "'webIdentityTokenFile'",
      "good for a role alone"
    )
  }

  test("a general chain of roles is ignored for a stream without a role") {
    val hub    = "arn:aws:iam::111111111111:role/hub"
    val parsed = parse("streamName" -> "a,b", "roleChain" -> hub, "stream.a.roleArn" -> role)
    assert(
      parsed.streams.map(_.client.credentials) == Seq(
        AssumeRole(AssumeRole(DefaultChain, hub, None, "kinesis-spark"), role, None, "kinesis-spark"),
        DefaultChain
      )
    )
  }

  test("an option takes the place of the same one under another name or spelling") {
    def replaced(before: (String, String), instead: (String, String)) =
      SourceOptions.parse(Map("streamName" -> "Events", before), Map(instead)).streams.head
    for (
      (before, instead) <- Seq(
        "initialPosition"               -> "startingPosition",
        "startingPosition"              -> "InitialPosition",
        "stream.Events.initialPosition" -> "stream.events.startingPosition"
      )
    )
      assert(
        replaced(before -> "TRIM_HORIZON", instead -> "LATEST").startingPosition.contains(StartingPosition.Latest)
      )
  }

  test("connection options are parsed, and the same for all streams") {
    val options = parse(
      "streamName"     -> "a,b",
      "caBundle"       -> "/etc/ca.pem",
      "proxy"          -> "http://proxy.example.com:3128",
      "proxyUser"      -> "u",
      "proxyPassword"  -> "p",
      "noProxy"        -> "localhost,*.internal",
      "connectTimeout" -> "3s",
      "readTimeout"    -> "45s",
      "maxConnections" -> "64",
      "applicationId"  -> "etl-1",
      "roleArn"        -> role,
      "stsRegion"      -> "us-east-1",
      "stsEndpoint"    -> "https://sts.example.com"
    )
    val proxy = ProxyOptions(
      new URI("http://proxy.example.com:3128"),
      Some("u"),
      Some(new Secret("p")),
      Seq("localhost", "*.internal")
    )
    val sts      = StsOptions(Some("us-east-1"), Some(new URI("https://sts.example.com")))
    val expected = ConnectionOptions(
      caBundle = Some("/etc/ca.pem"),
      proxy = Some(proxy),
      connectTimeout = 3.seconds,
      readTimeout = Some(45.seconds),
      maxConnections = 64,
      applicationId = Some("etl-1"),
      sts = sts
    )
    assert((options.client +: options.streams.map(_.client)).map(_.connection).distinct == Seq(expected))
    assert(
      parse("streamName" -> "a", "dualStack" -> "true", "fips" -> "true").client.connection ==
        ConnectionOptions(fips = true, dualStack = true)
    )
  }

  test("the options of STS are taken with a profile and with the default chain, which may name a role") {
    val keys = Seq("accessKeyId" -> "id", "secretAccessKey" -> "secret")
    for (more <- Seq(Seq("profile" -> "dev"), keys :+ ("stream.a.profile" -> "dev"), Nil)) {
      val options = parse(Seq("streamName" -> "a", "stsRegion" -> "us-east-1") ++ more: _*)
      assert(options.client.connection.sts == StsOptions(Some("us-east-1"), None))
    }
  }

  test("client options that contradict each other or lack their other half are refused") {
    def assertRefused(options: (String, String)*)(words: String*): Unit =
      assertReports(problems((("streamName" -> "a") +: options)*).mkString("\n"), words*)
    assertRefused("fips" -> "true", "endpoint" -> "http://localhost:1")("'fips' and 'endpoint' contradict")
    assertRefused("dualStack" -> "true", "roleArn" -> role, "stsEndpoint" -> "http://localhost:1")(
      "'dualStack' and 'stsEndpoint'"
    )
    assertRefused("proxyUser" -> "u", "proxyPassword" -> "p")("'proxyUser' is given without 'proxy'")
    assertRefused("proxy" -> "http://proxy:3128", "proxyUser" -> "u")("'proxyUser' and 'proxyPassword' belong together")
    assertRefused("proxy" -> "http://proxy")("lacks the port")
    assertRefused("noProxy" -> "a b", "proxy" -> "http://proxy:1")("'noProxy' must be", "a host's name")
    assertRefused("webIdentityTokenFile" -> "/token")("good for a role alone")
    assertRefused("webIdentityTokenFile" -> "/token", "profile" -> "dev", "roleArn" -> role)("contradict each other")
    assertRefused("webIdentityTokenFile" -> "/token", "roleArn" -> role, "externalId" -> "x-1")(
      "'externalId' has no use"
    )
    assertRefused("roleChain" -> role)("'roleChain' is given without 'roleArn'")
    assertRefused("roleArn" -> role, "roleChain" -> "reader")("'roleChain' must be", "the ARN of a role")
    assertRefused("roleArn" -> role, "roleChain" -> s"$role a b")("'roleChain' must be", "2 to 1224 letters")
    assertRefused("roleArn" -> role, "roleChain" -> s"$role-1 ext-1", "webIdentityTokenFile" -> "/token")(
      "external ID ext-1"
    )
    assertRefused("roleArn" -> role, "roleChain" -> role, "roleDuration" -> "2h")("'roleDuration' is more than an hour")
    assertRefused("roleArn" -> role, "roleDuration" -> "1m")("'roleDuration' must be", "15 minutes")
    val keys = Seq("accessKeyId" -> "id", "secretAccessKey" -> "secret")
    assertRefused(keys :+ ("stsRegion" -> "us-east-1"): _*)("'stsRegion' is given without 'roleArn'")
    assertRefused("credentialsProvider.vault" -> "https://vault")("'credentialsProvider.vault' is given without")
  }

  test("options without a stream are refused, also if load() has a path") {
    assertReports(problems().head, "streamName", "streamArn")
    assertReports(problems("path" -> "events").head, "load()")
  }

  test("streamName together with streamArn is refused") {
    assertReports(problems("streamName" -> "a", "streamArn" -> ordersArn).head, "both given", "one of them")
  }

  test("stream lists are refused if they hold empty items, duplicates, bad names or bad ARNs") {
    assertReports(problems("streamName" -> "a,,b").head, "'streamName'", "without empty items")
    assertReports(problems("streamName" -> "").head, "'streamName'", "without empty items")
    assertReports(problems("streamName" -> "a,b,a").head, "duplicates", "'a'")
    assertReports(problems("streamArn" -> s"$ordersArn,$ordersArn").head, "duplicates", ordersArn)
    assertReports(problems("streamName" -> "a b").head, "letters, digits", "'a b'")
    assertReports(problems("streamName" -> ordersArn).head, "the option is streamArn")
    assertReports(
      problems("streamArn" -> "arn:aws:s3:::bucket").head,
      "arn:aws:kinesis:<region>:<account>:stream/<name>"
    )
  }

  test("an unknown option is refused with the nearest name and without its value") {
    val reported = problem("startPosition" -> "hidden-value")
    assertReports(reported, "'startPosition'", "Did you mean 'startingPosition'?")
    assert(!reported.contains("hidden-value"))
    assert(problem("regoin" -> "x").contains("'region'"))
    assert(problem("maxRecordPerTriger" -> "1").contains("'maxRecordsPerTrigger'"))
    assert(!problem("zzzzzzzz" -> "1").contains("Did you mean"))
  }

  test("options of writeStream and of later releases are refused as unknown") {
    for (ofQuery <- Seq("checkpointLocation", "queryName", "asyncProgressTrackingEnabled"))
      assert(problem(ofQuery -> "x").contains("writeStream"), ofQuery)
    for (later <- Seq("efo.httpClient", "realTimeMode"))
      assert(problem(later -> "1").contains(s"Unknown option '$later'"), later)
  }

  test("JSON positions are assigned to streams by name or ARN") {
    val json    = """{"a":"TRIM_HORIZON","b":{"shardId-000000000000":"SHARD_END"}}"""
    val options = parse("streamName" -> "a,b", "startingPosition" -> json, "endingPosition" -> "LATEST")
    val ofB     = StartingPosition.Shards(None, None, Map("shardId-000000000000" -> ShardPosition.ShardEnd))
    assert(options.streams.map(_.startingPosition) == Seq(Some(StartingPosition.TrimHorizon), Some(ofB)))
    assert(options.streams.map(_.endingPosition).distinct == Seq(Some(StartingPosition.Latest)))
    val arn = "arn:aws:kinesis:eu-west-1:123456789012:stream/a"
    assert(
      parse("streamArn" -> arn, "startingPosition" -> s"""{"$arn":"LATEST"}""").streams.head.startingPosition.nonEmpty
    )
    assert(
      parse("streamName" -> "a", "startingPosition" -> s"""{"$arn":"LATEST"}""").streams.head.startingPosition.nonEmpty
    )
  }

  test("JSON positions are refused if a stream is unknown, missing or given twice") {
    assertReports(
      problem("startingPosition" -> """{"events":"LATEST","orders":"LATEST"}"""),
      "stream 'orders'",
      "not read here"
    )
    val both = Seq("streamName" -> "a,b", "startingPosition" -> """{"a":"LATEST"}""")
    assertReports(problems(both: _*).head, "no position of stream b", "'stream.b.startingPosition'")
    assert(parse(both :+ ("stream.b.startingPosition" -> "LATEST"): _*).streams.size == 2)
    val arn = "arn:aws:kinesis:eu-west-1:123456789012:stream/events"
    assertReports(
      problem("startingPosition" -> s"""{"events":"LATEST","$arn":"LATEST"}"""),
      "several positions of stream events"
    )
  }

  test("endingPosition is refused if no record can precede it") {
    assertReports(problem("endingPosition" -> "TRIM_HORIZON"), "nothing comes before the oldest record")
    assertReports(
      problem("startingPosition" -> "AT_TIMESTAMP:2000", "endingPosition" -> "AT_TIMESTAMP:1000"),
      "'endingPosition' (1970-01-01T00:00:01Z) is not after 'startingPosition'"
    )
  }

  test("one option under two names is refused") {
    assertReports(problem("region" -> "eu-west-1", "REGION" -> "eu-west-1"), "'REGION' and 'region'", "Give it once")
    assertReports(problem("startingPosition" -> "LATEST", "initialPosition" -> "LATEST"), "Give it once")
    assertReports(problem("stream.events.region" -> "eu-west-1", "stream.events.REGION" -> "eu-west-1"), "Give it once")
  }

  test("a per-stream option is refused if its stream is not read or it is not a per-stream option") {
    assertReports(problem("stream.evnets.region" -> "eu-west-1"), "'evnets' is not read here", "'stream.events.region'")
    assertReports(problem("stream.zzzzzzzzz.region" -> "eu-west-1"), "not read here", "The streams are events")
    assertReports(problem("stream.events.readerBufferSize" -> "64m"), "can't be set per stream")
    assertReports(problem("stream.events.regoin" -> "x"), "Did you mean 'stream.events.region'?")
    assertReports(problem("stream.events" -> "x"), "stream.<name>.<option>")
  }

  test("an invalid value is refused with the option, the accepted values and the given value") {
    assertReports(
      problem("startingPosition" -> "EARLIEST"),
      "'startingPosition' must be",
      "TRIM_HORIZON",
      "It is 'EARLIEST'"
    )
    assertReports(problem("maxRecordsPerTrigger" -> "many"), "a whole number greater than 0", "'many'")
    assertReports(problem("maxRecordsPerTrigger" -> "-5"), "greater than 0", "'-5'")
    assertReports(problem("maxBytesPerTrigger" -> "64x"), "a size", "'64x'")
    assertReports(problem("polling.callsPerSecond" -> "6"), "from 1 to 5", "'6'")
    assertReports(problem("polling.callsPerSecond" -> "0"), "greater than 0", "'0'")
    assertReports(problem("readerBufferSize" -> "1m"), "at least 16m", "'1m'")
    assertReports(problem("shardDiscoveryInterval" -> "0"), "at least 100 milliseconds")
    assertReports(problem("failOnDataLoss" -> "maybe"), "true or false")
    assertReports(problem("region" -> "Europe"), "name of an AWS region")
    assertReports(problem("endpoint" -> "localhost:4567"), "http://localhost:4567")
    assertReports(problem("recordPublisher" -> "push"), "polling, efo")
    assertReports(problem("roleArn" -> "reader"), "arn:aws:iam::<account>:role/<name>")
    assertReports(problem("stream.events.startingPosition" -> "x"), "'stream.events.startingPosition' must be")
  }

  test("minRecordsPerTrigger above maxRecordsPerTrigger is refused") {
    assertReports(problem("minRecordsPerTrigger" -> "10", "maxRecordsPerTrigger" -> "5"), "(10)", "(5)")
  }

  test("contradictory and incomplete credentials are refused") {
    val keys = Seq("accessKeyId" -> "a", "secretAccessKey" -> "b")
    assertReports(problem((keys :+ ("profile" -> "dev"))*), "'profile' and 'accessKeyId' contradict")
    assertReports(
      problem((keys :+ ("credentialsProvider" -> "a.B"))*),
      "'credentialsProvider' and 'accessKeyId' contradict"
    )
    assertReports(problem("profile" -> "dev", "credentialsProvider" -> "a.B"), "contradict")
    assertReports(problem("accessKeyId" -> "a"), "without 'secretAccessKey'")
    assertReports(problem("secretAccessKey" -> "a"), "without 'accessKeyId'")
    assertReports(problem("sessionToken" -> "a"), "'sessionToken'", "without")
    assertReports(problem("externalId" -> "x-1"), "'externalId'", "without 'roleArn'")
    assertReports(problem("roleSessionName" -> "job"), "'roleSessionName'", "without 'roleArn'")
    assertReports(problem("stream.events.externalId" -> "x-1"), "'stream.events.externalId'", "no 'roleArn'")
  }

  test("a region that differs from the region of the stream ARN is refused") {
    val reported = problems("streamArn" -> s"$ordersArn,$clicksArn", "region" -> "eu-west-1")
    assert(reported.size == 1)
    assertReports(reported.head, "'region' is eu-west-1", clicksArn, "us-east-1", "Leave 'region' out")
    assertReports(
      problems("streamArn" -> ordersArn, "stream.orders.region" -> "us-east-1").head,
      "'stream.orders.region'"
    )
    assert(parse("streamArn" -> ordersArn, "region" -> "eu-west-1").streams.size == 1)
  }

  test("all invalid source options are reported in one error") {
    val reported = problems("streamName" -> "a", "regoin" -> "x", "maxBytesPerTrigger" -> "x", "accessKeyId" -> "x")
    assert(reported.size == 3)
    val text = intercept[OptionException](parse("regoin" -> "x")).getMessage
    assertReports(text, "2 problems", "\n  - ")
  }

  test("parsed options are equal after Java serialization") {
    val options = events("accessKeyId" -> "a", "secretAccessKey" -> "b", "startingPosition" -> "AT_TIMESTAMP:5")
    val bytes   = new ByteArrayOutputStream
    new ObjectOutputStream(bytes).writeObject(options)
    assert(new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject() == options)
  }

  test("client options are equal for equal keys and differ for different keys") {
    def client(secret: String) = events("accessKeyId" -> "a", "secretAccessKey" -> secret).streams.head.client
    assert(client("b") == client("b") && client("b").hashCode == client("b").hashCode)
    assert(client("b") != client("c"))
  }
}
