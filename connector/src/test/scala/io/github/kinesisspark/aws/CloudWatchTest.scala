package io.github.kinesisspark.aws

import java.net.{URI, URLDecoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Duration, LocalDateTime, ZoneOffset, ZonedDateTime}
import java.time.format.DateTimeFormatter

import scala.concurrent.duration.DurationInt
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.config.{ClientOptions, ConnectionOptions, CredentialsOptions, Secret}

/** PutMetricData on a stand-in for CloudWatch. */
class CloudWatchTest extends AnyFunSuite {
  private val keys =
    CredentialsOptions.StaticKeys(new Secret("id-1"), new Secret("secret-1"), Some(new Secret("token-1")))
  private val connection = ConnectionOptions(applicationId = Some("etl-1"))

  private def published(answer: StubServer.Answer): Seq[StubServer.Request] =
    Using.Manager { use =>
      val server = use(new StubServer((_, _) => answer))
      publish(use(cloudWatchAt(Some(server.endpoint))))
      server.requests
    }.get

  private def cloudWatchAt(endpoint: Option[URI]) =
    new CloudWatch(ClientOptions(None, None, keys, connection), "eu-west-1", endpoint)

  private def publish(cloudWatch: CloudWatch): Unit =
    cloudWatch.publish("spark & co", Seq("Streams" -> "a+b"), within = 1.minute, SilentCalls)(
      Seq("bytes" -> 5L, "maxMillisBehindLatest" -> 7L, "records" -> 2L)
    )

  private val Taken = StubServer.Answer(200, "<PutMetricDataResponse/>".getBytes(UTF_8))

  test("all values of a moment are one signed call, with names, units and dimensions") {
    val Seq(request) = published(Taken): @unchecked
    assert(request.headers("authorization").contains("Credential=id-1/"))
    assert(request.headers("authorization").contains("/eu-west-1/monitoring/aws4_request"))
    assert(request.headers("x-amz-security-token") == "token-1")
    assert(request.headers("user-agent") == "kinesis-spark app/etl-1")
    val form =
      request.body.split('&').map(_.split("=", 2)).map(pair => pair(0) -> URLDecoder.decode(pair(1), UTF_8)).toMap
    assert(form("Action") == "PutMetricData" && form("Version") == "2010-08-01" && form("Namespace") == "spark & co")
    val metrics = (1 to 3).map { i =>
      def of(name: String) = form(s"MetricData.member.$i.$name")
      assert(of("Dimensions.member.1.Name") == "Streams" && of("Dimensions.member.1.Value") == "a+b")
      (of("MetricName"), of("Value"), of("Unit"))
    }
    assert(
      metrics == Seq(("bytes", "5", "Bytes"), ("maxMillisBehindLatest", "7", "Milliseconds"), ("records", "2", "Count"))
    )
  }

  test("a refusal fails the call with status, code and message in one line") {
    val body = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not\nallowed</Message></Error></ErrorResponse>"
    val failure = intercept[KinesisException](published(StubServer.Answer(403, body.getBytes(UTF_8))))
    assert(failure.errorClass == "KINESIS_ACCESS_DENIED" && failure.getMessage.linesIterator.size == 1)
    for (
      part <- Seq("PutMetricData", "spark & co", "AccessDenied (CloudWatch, HTTP 403): not", "cloudwatch:PutMetricData")
    )
      assert(failure.getMessage.contains(part), failure.getMessage)
  }

  test("a call after one that was refused for its time is signed with the service's time") {
    val service = ZonedDateTime.now(ZoneOffset.UTC).plusHours(1)
    val body    = "<ErrorResponse><Error><Code>RequestExpired</Code><Message>expired</Message></Error></ErrorResponse>"
    val refusal =
      StubServer.Answer(403, body.getBytes(UTF_8), Map("Date" -> DateTimeFormatter.RFC_1123_DATE_TIME.format(service)))
    Using.Manager { use =>
      val server     = use(new StubServer((_, index) => if (index == 0) refusal else Taken))
      val cloudWatch = use(cloudWatchAt(Some(server.endpoint)))
      assert(intercept[KinesisException](publish(cloudWatch)).errorClass == "KINESIS_CLOCK_SKEW")
      publish(cloudWatch)
      val signed = server.requests.map(r => LocalDateTime.parse(r.headers("x-amz-date"), AmzDate))
      assert(Duration.between(signed.head, signed.last).toMinutes >= 55)
    }.get
  }

  private def address(
      region: String,
      connection: ConnectionOptions = ConnectionOptions(),
      credentials: CredentialsOptions = keys
  ) = Endpoints.ofCloudWatch(ClientOptions(None, None, credentials, connection), region)

  test("the address is the region's, in its partition, for FIPS and dual stack") {
    assert(address("eu-west-1") == new URI("https://monitoring.eu-west-1.amazonaws.com"))
    assert(address("cn-north-1") == new URI("https://monitoring.cn-north-1.amazonaws.com.cn"))
    assert(
      address("us-east-1", ConnectionOptions(fips = true)) == new URI("https://monitoring-fips.us-east-1.amazonaws.com")
    )
    assert(address("us-east-1", ConnectionOptions(dualStack = true)) == new URI("https://monitoring.us-east-1.api.aws"))
    // The usual hosts of GovCloud are FIPS's; only dual stack has others.
    val gov = ConnectionOptions(fips = true)
    assert(address("us-gov-east-1", gov) == new URI("https://monitoring.us-gov-east-1.amazonaws.com"))
    assert(address("us-gov-west-1", gov) == new URI("https://monitoring.us-gov-west-1.amazonaws.com"))
    assert(
      address("us-gov-west-1", gov.copy(dualStack = true)) == new URI("https://monitoring-fips.us-gov-west-1.api.aws")
    )
  }

  /** With a function that makes profiles. */
  private def withProfiles[A](test: ((String, String) => CredentialsOptions) => A): A =
    Using.resource(new AwsHome(new URI("http://127.0.0.1:1"))) { home =>
      test((name, settings) => CredentialsOptions.Profile(home.keys(name, "id", "secret", "token", settings)))
    }

  test("the profile of the credentials, or the default one, decides FIPS and dual stack where the options don't") {
    withProfiles { profile =>
      val _     = profile("default", "use_fips_endpoint = true\nuse_dualstack_endpoint = true")
      val gov   = profile("gov", "use_fips_endpoint = true")
      val roles = CredentialsOptions.AssumeRole(gov, "arn:aws:iam::123456789012:role/r", None, "job")
      assert(address("us-east-1") == new URI("https://monitoring-fips.us-east-1.api.aws"))
      for (own <- Seq(gov, roles))
        assert(address("us-east-1", credentials = own) == new URI("https://monitoring-fips.us-east-1.amazonaws.com"))
      assert(
        address("us-east-1", credentials = profile("plain", "")) == new URI(
          "https://monitoring.us-east-1.amazonaws.com"
        )
      )
    }
  }

  test("an endpoint of the machine is called, the environment's before that of the credentials' profile") {
    Using.Manager { use =>
      val server = use(new StubServer((_, _) => Taken))
      withProfiles { profile =>
        val own = profile("own", "endpoint_url = http://localhost:4567")
        assert(address("us-east-1", credentials = own) == new URI("http://localhost:4567"))
        // What the SDK reads like AWS_ENDPOINT_URL_CLOUDWATCH.
        System.setProperty("aws.endpointUrlCloudWatch", server.endpoint.toString)
        try {
          assert(address("us-east-1", credentials = own) == server.endpoint)
          publish(use(cloudWatchAt(None)))
        } finally System.clearProperty("aws.endpointUrlCloudWatch"): Unit
      }
      assert(server.requests.size == 1)
    }.get
  }

  private val AmzDate = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'")
}
