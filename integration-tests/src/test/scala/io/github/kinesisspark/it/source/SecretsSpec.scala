package io.github.kinesisspark.it.source

import java.io.{PrintWriter, StringWriter}
import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}
import java.time.Instant

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.Level
import org.apache.spark.SparkException
import org.apache.spark.sql.execution.ExplainMode
import org.apache.spark.sql.streaming.StreamingQuery

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.aws.{AwsHome, StubServer, TunnelProxy}
import io.github.kinesisspark.config.{OptionRegistry, SourceOptions}
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule}

/** Runs succeeding and failing queries and batches with known credentials, and searches all of their output for
  * these: keys, a role's own keys and those of logins with their tokens, which a stub of AWS's services gives, and a proxy's password.
  */
final class SecretsSpec extends TestkitSuite with CapturedLogs {
  private val planted = Map(
    "accessKeyId"     -> "AKIAPLANTEDKEYID0001",
    "secretAccessKey" -> "planted/Secret+Access+Key/0000000000002",
    "sessionToken"    -> "planted-session-token-0000000000000003",
    "proxyPassword"   -> "planted-proxy-password-00000000000004"
  )
  private val ofStream = Map(
    "accessKeyId"     -> "AKIAPLANTEDKEYID0021",
    "secretAccessKey" -> "planted/Stream+Secret/000000000000000022",
    "sessionToken"    -> "planted-token-of-stream-000000000000023"
  )
  private val ofRole = Map(
    "key of the role"    -> "ASIAPLANTEDKEYID0006",
    "secret of the role" -> "planted/Role+Secret/0000000000000000007",
    "token of the role"  -> "planted-role-token-0000000000000000008"
  )

  private val ofLogins = Map(
    "token of SSO"              -> "planted-sso-token-000000000000000009",
    "refresh token of SSO"      -> "planted-sso-refresh-0000000000000010",
    "client secret of SSO"      -> AwsHome.ClientSecret,
    "next token of SSO"         -> "planted-next-sso-token-0000000000012",
    "next refresh token of SSO" -> "planted-next-sso-refresh-00000000013",
    "secret of SSO"             -> "planted/Sso+Secret/0000000000000000014",
    "refused refresh token"     -> "planted-refused-refresh-000000000015",
    "secret of a login"         -> "planted/Login+Secret/00000000000000016",
    "refresh token of a login"  -> "planted-login-refresh-00000000000017",
    "next secret of a login"    -> "planted/Next+Login+Secret/00000000018",
    "next refresh of a login"   -> "planted-next-login-refresh-000000019",
    "session token of both"     -> "planted-session-of-login-00000000020"
  )

  private val proxy = new TunnelProxy(login = Some(s"user:${planted("proxyPassword")}"))
  private val sts   = new StubServer((request, _) =>
    if (request.headers.contains("x-amz-sso_bearer_token")) json(roleCredentials)
    else if (request.headers.contains("dpop")) json(signInKeys)
    else if (request.body.contains(ofLogins("refused refresh token")))
      StubServer.error(400, "InvalidGrantException").copy(body = "{\"error\":\"invalid_grant\"}".getBytes("UTF-8"))
    else if (request.body.startsWith("{")) json(ssoTokens)
    else assumedRole
  )
  // Made in a test: all suites of a JVM are made before the first one runs, and one config file is read at a time.
  private lazy val home = new AwsHome(sts.endpoint)

  private def json(text: String) =
    StubServer.Answer(200, text.getBytes("UTF-8"), Map("Content-Type" -> "application/json"))

  private def roleCredentials = s"""{"roleCredentials": {"accessKeyId": "ASIASSO", "expiration": 4070908800000,
    "secretAccessKey": "${ofLogins("secret of SSO")}", "sessionToken": "${ofLogins("session token of both")}"}}"""

  private def ssoTokens = s"""{"accessToken": "${ofLogins("next token of SSO")}", "expiresIn": 3600,
    "refreshToken": "${ofLogins("next refresh token of SSO")}"}"""

  private def signInKeys = s"""{"expiresIn": 900, "refreshToken": "${ofLogins("next refresh of a login")}",
    "tokenType": "aws_sigv4", "accessToken": {"accessKeyId": "ASIALOGIN",
    "secretAccessKey": "${ofLogins("next secret of a login")}", "sessionToken": "${ofLogins(
      "session token of both"
    )}"}}"""

  private def assumedRole =
    StubServer.Answer(
      200,
      s"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
         |<AccessKeyId>${ofRole("key of the role")}</AccessKeyId>
         |<SecretAccessKey>${ofRole("secret of the role")}</SecretAccessKey>
         |<SessionToken>${ofRole("token of the role")}</SessionToken>
         |<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>""".stripMargin
        .getBytes("UTF-8"),
      Map("Content-Type" -> "text/xml")
    )

  override protected def afterAll(): Unit = {
    super.afterAll()
    home.close()
    proxy.close()
    sts.close()
  }

  private val events = Files.createTempDirectory("event-log-")

  override protected def settings: Map[String, String] = Map(
    "spark.ui.enabled"                   -> "true",
    "spark.ui.port"                      -> "0",
    "spark.eventLog.enabled"             -> "true",
    "spark.eventLog.compress"            -> "false",
    "spark.eventLog.dir"                 -> events.toUri.toString,
    "spark.sql.streaming.metricsEnabled" -> "true"
  )

  override protected def options(stream: TestStream): Map[String, String] = super.options(stream) ++ planted ++ Map(
    "roleArn"     -> "arn:aws:iam::123456789012:role/reader",
    "stsEndpoint" -> sts.endpoint.toString,
    "proxy"       -> proxy.address.toString,
    "proxyUser"   -> "user"
  )

  /** Keys of the stream alone. */
  private def own(stream: TestStream): Map[String, String] = ofStream.map { case (option, secret) =>
    s"stream.${stream.name}.$option" -> secret
  }

  /** As [[options]], with a profile in place of keys and role. */
  private def ofProfile(stream: TestStream, profile: String): Map[String, String] =
    options(stream) -- Seq(
      "accessKeyId",
      "secretAccessKey",
      "sessionToken",
      "roleArn",
      "stsEndpoint"
    ) + ("profile" -> profile)

  private def plantLogins(): Unit = {
    val expired = Instant.now.minusSeconds(60)
    home.session("sso")
    home.ssoLogin("sso", ofLogins("token of SSO"), expired, Some(ofLogins("refresh token of SSO")))
    home.session("refused")
    home.ssoLogin("refused", ofLogins("token of SSO"), expired, Some(ofLogins("refused refresh token")))
    home.signIn("login")
    val keys = ("ASIAOLD", ofLogins("secret of a login"), ofLogins("session token of both"))
    home.signInLogin("login", expired, ofLogins("refresh token of a login"), keys): Unit
  }

  /** The connector's own in full. The SDK's signer and Netty's wire log, which print requests, are for who looks for trouble in those. */
  private val detailed = Map(
    "io.github.kinesisspark" -> Level.TRACE,
    "org.apache.spark.sql"   -> Level.DEBUG
  )

  it("secrets appear in no plan, log, UI, event log, progress, error or checkpoint") {
    val (places, logs) = withLogs(detailed) {
      plantLogins()
      val stream     = newStream(shards = 2)
      val succeeding = checkpoint()
      val failing    = checkpoint()
      put(stream, "s", 100)
      val good = run(stream, succeeding) { query =>
        eventually(query.recentProgress.map(_.numInputRows).sum shouldBe 100)
        query.explain(extended = true)
      }
      val batch     = backfill(stream, own(stream).toSeq: _*).queryExecution
      val explained = Seq("simple", "extended", "codegen", "cost", "formatted")
        .map(level => batch.explainString(ExplainMode.fromString(level)))
        .mkString
      kinesis.faults.add(FaultRule(FaultEffect.ServiceCode("AccessDeniedException", "denied"), Some("GetRecords")))
      val bad  = run(stream, failing, own(stream).toSeq: _*)(query => failureOf(query): Unit)
      val plan = load(stream).queryExecution.toString + load(stream).toString + explained
      save(options(copy) ++ own(copy))
      save(ofProfile(copy, "login"))
      val nowhere = new TestStream(service, "no-such-stream")
      val absent  = intercept[SparkException](save(options(nowhere) ++ own(nowhere)))
      val over    = intercept[Exception](save(ofProfile(copy, "refused")))
      stackTrace(over) should include("KINESIS_LOGIN_REQUIRED")
      Map(
        "progress"   -> (good.recentProgress ++ bad.recentProgress).map(_.json).mkString,
        "error"      -> (stackTrace(bad.exception.get) + stackTrace(absent) + stackTrace(over)),
        "plan"       -> plan,
        "query"      -> (good.toString + bad.toString),
        "web UI"     -> Seq("StreamingQuery/", "SQL/", "jobs/", "stages/", "environment/").map(page).mkString,
        "REST"       -> Seq("sql?details=true", "jobs", "environment").map(rest).mkString,
        "checkpoint" -> (contents(succeeding) + contents(failing)),
        "event log"  -> contents(events)
      )
    }
    for ((place, text) <- places + ("log" -> logs)) {
      withClue(s"$place is empty, so that looking through it proves nothing: ")(text should not be empty)
      for ((option, secret) <- planted.toSeq ++ ofStream ++ ofRole ++ ofLogins)
        withClue(s"$option in $place: ")(text should not include secret)
    }
    withClue("the role was assumed, and each login renewed, through the proxy: ") {
      sts.requests.exists(_.body.contains("AssumeRole")) shouldBe true
      for (secret <- Seq("refresh token of SSO", "refused refresh token", "refresh token of a login"))
        sts.requests.map(_.body).exists(_.contains(ofLogins(secret))) shouldBe true
      sts.requests.exists(_.headers.get("x-amz-sso_bearer_token").contains(ofLogins("next token of SSO"))) shouldBe true
    }
    proxy.asked.distinct should have size 2
    // What the search would find if it were there: the same places do name the stream.
    places("error") should include("AccessDenied")
    logs should include("no-such-stream")
  }

  it("all secret options have values in this suite, except those of a provider class, which excludes keys") {
    OptionRegistry.all.filter(_.isSecret).map(_.name).toSet shouldBe
      planted.keySet + "credentialsProvider.<parameter>"
    val failure = intercept[IllegalArgumentException](
      SourceOptions.parse(Map("streamName" -> "s", "credentialsProvider.token" -> "planted-parameter"))
    )
    failure.getMessage should (include("credentialsProvider.token") and not include "planted-parameter")
    val parsed = SourceOptions.parse(
      Map("streamName" -> "s", "credentialsProvider" -> "a.B", "credentialsProvider.token" -> "planted-parameter")
    )
    parsed.toString should (include("a.B") and not include "planted-parameter")
  }

  it("an error about a credentials option contains its name and not its value") {
    val failure = intercept[IllegalArgumentException](
      spark.readStream
        .format("kinesis")
        .options(Map("streamName" -> "s", "region" -> "us-east-1", "secretAccessKey" -> planted("secretAccessKey")))
        .load()
    )
    failure.getMessage should include("accessKeyId")
    stackTrace(failure) should not include planted("secretAccessKey")
  }

  private lazy val copy = newStream(shards = 1)

  private def run(stream: TestStream, at: Path, more: (String, String)*)(
      body: StreamingQuery => Unit
  ): StreamingQuery = {
    val query = load(stream, more: _*)
      .select("data")
      .writeStream
      .format("kinesis")
      .options(ofProfile(copy, "sso"))
      .option("checkpointLocation", at.toString)
      .start()
    try body(query)
    finally query.stop()
    query
  }

  private def save(to: Map[String, String]): Unit = save(spark.range(10).selectExpr("string(id) AS data"), to)

  private def page(path: String): String = get(s"${spark.sparkContext.uiWebUrl.get}/$path")
  private def rest(path: String): String =
    get(s"${spark.sparkContext.uiWebUrl.get}/api/v1/applications/${spark.sparkContext.applicationId}/$path")

  /** A whole page: Spark's server cuts one short that it can't send within 30 s, as beside other work on the same cores. */
  private def get(url: String): String = eventually {
    val page = web.send(HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString())
    withClue(s"$url: ")(page.statusCode shouldBe 200)
    page.body
  }

  private lazy val web = HttpClient.newHttpClient()

  private def contents(dir: Path): String =
    Files.walk(dir).iterator.asScala.filter(Files.isRegularFile(_)).map(Files.readString(_, ISO_8859_1)).mkString

  private def stackTrace(failure: Throwable): String = {
    val text = new StringWriter
    failure.printStackTrace(new PrintWriter(text))
    text.toString
  }
}
