package io.github.kinesisspark.config

import java.net.URI

import io.github.kinesisspark.position.StreamArn
import org.scalatest.LoneElement
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.matchers.should.Matchers

import scala.concurrent.duration._

class SinkOptionsTest extends AnyFunSuite with Matchers with LoneElement {

  private def problems(options: (String, String)*): Seq[String] =
    intercept[OptionException](SinkOptions.parse(options.toMap)).problems

  private val client = ClientOptions(None, None, CredentialsOptions.DefaultChain)

  test("every sink option has a default, and no stream is required") {
    SinkOptions.parse(Map.empty) shouldBe
      SinkOptions(
        None,
        client,
        Map.empty,
        ordered = false,
        None,
        BadRecords.Fail,
        32L << 20,
        8,
        Linger(1.millis, 10.millis)
      )
  }

  test("every sink option is parsed, and Spark's own options are ignored") {
    val options = Map(
      "streamName"                                     -> "events",
      "REGION"                                         -> "eu-west-1",
      "ordered"                                        -> "true",
      "aggregate"                                      -> "true",
      "aggregateSize"                                  -> "200k",
      "badRecords"                                     -> "skip",
      "maxRetryDuration"                               -> "1h",
      "writerBufferSize"                               -> "64m",
      "maxInFlightCalls"                               -> "2",
      "linger"                                         -> "1s",
      "checkpointLocation"                             -> "/data/checkpoint",
      "queryName"                                      -> "copy",
      "asyncProgressTrackingEnabled"                   -> "true",
      "asyncProgressTrackingCheckpointIntervalMs"      -> "0",
      "_asyncProgressTrackingOverrideSinkSupportCheck" -> "true"
    )
    SinkOptions.parse(options) shouldBe SinkOptions(
      Some(StreamRef.ByName("events")),
      client.copy(
        region = Some("eu-west-1"),
        connection = ConnectionOptions(retries = CallRetries.default.within(1.hour))
      ),
      Map.empty,
      ordered = true,
      Some(200 << 10),
      BadRecords.Skip,
      64L << 20,
      2,
      Linger.of(1.second)
    )
  }

  test("aggregateSize is refused without aggregate and outside 1k to 1m, and defaults to 50k") {
    problems("aggregateSize" -> "10k").loneElement should include("without 'aggregate'")
    for (size <- Seq("1000", "2m"))
      problems("aggregate" -> "true", "aggregateSize" -> size).loneElement should include("from 1k to 1m")
    SinkOptions.parse(Map("aggregate" -> "true")).aggregateSize shouldBe Some(50 << 10)
  }

  test(
    "linger defaults to 1 ms without a call under way and 10 ms with one, to 100 ms with aggregation, can be set, and must not be 0"
  ) {
    SinkOptions.parse(Map("streamName" -> "orders")).linger shouldBe Linger(idle = 1.millis, busy = 10.millis)
    SinkOptions.parse(Map("aggregate" -> "true")).linger shouldBe Linger.of(100.millis)
    SinkOptions.parse(Map("aggregate" -> "true", "linger" -> "5ms")).linger shouldBe Linger.of(5.millis)
    problems("linger" -> "0").loneElement should include("'linger'")
  }

  test("streams that rows name can each have a role, a region and an endpoint of their own") {
    val role   = "arn:aws:iam::123456789012:role/writer"
    val arn    = "arn:aws:kinesis:us-east-1:123456789012:stream/clicks"
    val parsed = SinkOptions.parse(
      Map(
        "streamName"               -> "events",
        "region"                   -> "eu-west-1",
        "profile"                  -> "dev",
        "stream.Orders.roleArn"    -> role,
        "stream.Orders.externalId" -> "x-1",
        s"stream.$arn.region"      -> "us-east-1"
      )
    )
    val base             = ClientOptions(Some("eu-west-1"), None, CredentialsOptions.Profile("dev"))
    def of(name: String) = parsed.clientOf(StreamRef.ByName(name))
    of("events") shouldBe base
    for (name <- Seq("Orders", "orders"))
      of(name).credentials shouldBe CredentialsOptions.AssumeRole(base.credentials, role, Some("x-1"), "kinesis-spark")
    parsed.clientOf(StreamRef.ByArn(StreamArn(arn))) shouldBe base.copy(region = Some("us-east-1"))
    problems("stream.orders.externalId" -> "x-1").loneElement should include("no 'roleArn' for that stream")
    problems(s"stream.$arn.region" -> "eu-west-1").loneElement should include("is in us-east-1")
  }

  test("options by a stream's ARN beat those by its name, and are merged with them") {
    def arn(account: String)  = s"arn:aws:kinesis:eu-west-1:$account:stream/orders"
    def role(account: String) = s"arn:aws:iam::$account:role/writer"
    // A map's order depends on its keys.
    for (account <- (1 to 20).map(n => s"${100000000000L * (n % 9 + 1) + n}")) {
      val parsed = SinkOptions.parse(
        Map(
          "stream.orders.roleArn"           -> role("999999999999"),
          "stream.orders.externalId"        -> "x-1",
          s"stream.${arn(account)}.roleArn" -> role(account)
        )
      )
      def of(stream: StreamRef) = parsed.clientOf(stream).credentials
      def assumed(to: String)   =
        CredentialsOptions.AssumeRole(CredentialsOptions.DefaultChain, role(to), Some("x-1"), "kinesis-spark")
      of(StreamRef.ByName("orders")) shouldBe assumed("999999999999")
      of(StreamRef.ByArn(StreamArn(arn(account)))) shouldBe assumed(account)
      of(StreamRef.ByArn(StreamArn(arn("999999999999")))) shouldBe assumed("999999999999")
    }
  }

  test("credentials by a stream's ARN take the place of those by its name as a whole") {
    val arn    = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
    val parsed = SinkOptions.parse(
      Map("stream.orders.profile" -> "dev", s"stream.$arn.credentialsProvider" -> "a.B")
    )
    parsed.clientOf(StreamRef.ByArn(StreamArn(arn))).credentials shouldBe CredentialsOptions.ProviderClass("a.B")
  }

  test("a general web identity is accepted where each stream has a role") {
    val role    = "arn:aws:iam::123456789012:role/writer"
    val options = Map("webIdentityTokenFile" -> "/token", "stream.orders.roleArn" -> role)
    for (more <- Seq(Map.empty, Map("streamName" -> "orders")))
      SinkOptions.parse(options ++ more).clientOf(StreamRef.ByName("orders")).credentials shouldBe
        CredentialsOptions.AssumeRole(CredentialsOptions.WebIdentity("/token"), role, None, "kinesis-spark")
    for (more <- Seq("streamName" -> "clicks", "stream.clicks.region" -> "eu-west-1"))
      problems((options + more).toSeq: _*).loneElement should include("good for a role alone")
    problems("webIdentityTokenFile" -> "/token").loneElement should include("good for a role alone")
  }

  test("options of a stream by ARN are accepted beside the general region, though the stream is in another one") {
    val arn    = "arn:aws:kinesis:us-east-1:123456789012:stream/clicks"
    val parsed = SinkOptions.parse(
      Map("streamName" -> "events", "region" -> "eu-west-1", s"stream.$arn.endpoint" -> "http://localhost:4567")
    )
    parsed.clientOf(StreamRef.ByArn(StreamArn(arn))).endpoint shouldBe Some(new URI("http://localhost:4567"))
    problems("streamArn" -> arn, "region" -> "eu-west-1").loneElement should include("is in us-east-1")
  }

  test("streams that rows name can each have credentials of their own") {
    val parsed = SinkOptions.parse(
      Map(
        "profile"                                   -> "dev",
        "stream.orders.accessKeyId"                 -> "k",
        "stream.orders.secretAccessKey"             -> "s",
        "stream.clicks.credentialsProvider"         -> "a.B",
        "stream.clicks.credentialsProvider.pathKey" -> "/p"
      )
    )
    def of(name: String) = parsed.clientOf(StreamRef.ByName(name)).credentials
    of("events") shouldBe CredentialsOptions.Profile("dev")
    of("clicks") shouldBe CredentialsOptions.ProviderClass("a.B", Map("pathKey" -> new Secret("/p")))
    problems("profile" -> "dev", "stream.orders.accessKeyId" -> "k").loneElement should
      include("without 'stream.orders.secretAccessKey'")
  }

  test("several stream names are refused with a hint to the column targetStream") {
    problems("streamName" -> "a,b").loneElement should include("a column targetStream")
  }

  test("source options and per-stream options are refused in the sink, and sink options in the source") {
    problems("startingPosition" -> "LATEST").loneElement should include("an option of the source, not of the sink")
    problems("stream.a.startingPosition" -> "LATEST").loneElement should include("'stream.a.startingPosition'")
    intercept[OptionException](
      SourceOptions.parse(Map("streamName" -> "a", "ordered" -> "true"))
    ).problems.loneElement should
      include("an option of the sink, not of the source")
  }

  test("an unknown sink option is refused with the nearest sink option") {
    problems("badRecord" -> "skip").loneElement should include("Did you mean 'badRecords'?")
  }

  test("all invalid sink options are reported in one error") {
    problems(
      "streamName"       -> "a",
      "streamArn"        -> "arn:aws:kinesis:eu-west-1:123456789012:stream/a",
      "writerBufferSize" -> "1k",
      "externalId"       -> "abc"
    ) should have size 3
  }
}
