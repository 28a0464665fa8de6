package io.github.kinesisspark.it.source

import java.io.{PrintWriter, StringWriter}
import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkException
import org.apache.spark.sql.streaming.StreamingQuery

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule}

/** Runs succeeding and failing queries and batches with known credentials, and searches all of their output for
  * these.
  */
final class SecretsSpec extends TestkitSuite with CapturedLogs {
  private val planted = Map(
    "accessKeyId"     -> "AKIAPLANTEDKEYID0001",
    "secretAccessKey" -> "planted/Secret+Access+Key/0000000000002",
    "sessionToken"    -> "planted-session-token-0000000000000003"
  )
  private val events = Files.createTempDirectory("event-log-")

  override protected def settings: Map[String, String] = Map(
    "spark.ui.enabled"                   -> "true",
    "spark.ui.port"                      -> "0",
    "spark.eventLog.enabled"             -> "true",
    "spark.eventLog.compress"            -> "false",
    "spark.eventLog.dir"                 -> events.toUri.toString,
    "spark.sql.streaming.metricsEnabled" -> "true"
  )

  override protected def options(stream: TestStream): Map[String, String] = super.options(stream) ++ planted

  it("secrets appear in no plan, log, UI, event log, progress, error or checkpoint") {
    val (places, logs) = withLogs {
      val stream     = newStream(shards = 2)
      val succeeding = checkpoint()
      val failing    = checkpoint()
      put(stream, "s", 100)
      val good = run(stream, succeeding) { query =>
        eventually(query.recentProgress.map(_.numInputRows).sum shouldBe 100)
        query.explain(extended = true)
      }
      kinesis.faults.add(FaultRule(FaultEffect.ServiceCode("AccessDeniedException", "denied"), Some("GetRecords")))
      val bad  = run(stream, failing)(query => failureOf(query): Unit)
      val plan = load(stream).queryExecution.toString + load(stream).toString
      save(copy)
      val absent = intercept[SparkException](save(new TestStream(service, "no-such-stream")))
      Map(
        "progress"   -> (good.recentProgress ++ bad.recentProgress).map(_.json).mkString,
        "error"      -> (stackTrace(bad.exception.get) + stackTrace(absent)),
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
      for ((option, secret) <- planted) withClue(s"$option in $place: ")(text should not include secret)
    }
    // What the search would find if it were there: the same places do name the stream.
    places("error") should include("AccessDenied")
    logs should include("no-such-stream")
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

  private def run(stream: TestStream, at: Path)(body: StreamingQuery => Unit): StreamingQuery = {
    val query = load(stream)
      .select("data")
      .writeStream
      .format("kinesis")
      .options(options(copy))
      .option("checkpointLocation", at.toString)
      .start()
    try body(query)
    finally query.stop()
    query
  }

  private def save(stream: TestStream): Unit =
    spark
      .range(10)
      .selectExpr("string(id) AS data")
      .write
      .format("kinesis")
      .options(options(stream))
      .mode("append")
      .save()

  private def page(path: String): String = get(s"${spark.sparkContext.uiWebUrl.get}/$path")
  private def rest(path: String): String =
    get(s"${spark.sparkContext.uiWebUrl.get}/api/v1/applications/${spark.sparkContext.applicationId}/$path")

  private def get(url: String): String =
    HttpClient
      .newHttpClient()
      .send(HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString())
      .body

  private def contents(dir: Path): String =
    Files.walk(dir).iterator.asScala.filter(Files.isRegularFile(_)).map(Files.readString(_, ISO_8859_1)).mkString

  private def stackTrace(failure: Throwable): String = {
    val text = new StringWriter
    failure.printStackTrace(new PrintWriter(text))
    text.toString
  }
}
