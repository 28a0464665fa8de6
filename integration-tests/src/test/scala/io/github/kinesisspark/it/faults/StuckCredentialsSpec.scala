package io.github.kinesisspark.it.faults

import java.util.concurrent.CountDownLatch

import scala.concurrent.{Await, ExecutionContext, Future, Promise}
import scala.concurrent.duration._

import org.apache.spark.ExceptionFailure
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.StreamingQuery
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}
import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, AwsCredentials, AwsCredentialsProvider}

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{BatchLog, TestkitSuite}

/** Classes of a user's that give no credentials, or take long to be made. */
@Slow
final class StuckCredentialsSpec extends TestkitSuite {
  implicit private val threads: ExecutionContext = ExecutionContext.global

  /** A core for each query and each write of a test. */
  override protected def master: String = "local[5,4]"

  // Nobody waits here for the default of 15 minutes.
  private val Impatient = "maxRetryDuration" -> "2s"

  /** @param client whose clients are its own */
  private def by(provider: Class[?], stream: TestStream, client: String): Map[String, String] =
    options(stream) -- Seq("accessKeyId", "secretAccessKey") ++
      Map("credentialsProvider" -> provider.getName, "applicationId" -> client)

  private def reading(options: Map[String, String], log: BatchLog): StreamingQuery = spark.readStream
    .format("kinesis")
    .options(options)
    .option("startingPosition", "TRIM_HORIZON")
    .load()
    .writeStream
    .option("checkpointLocation", checkpoint().toString)
    .foreachBatch((batch: DataFrame, id: Long) => log.add(batch, id))
    .start()

  private def write(options: Map[String, String]): Unit =
    save(spark.range(0, 10, 1, 1).select(concat(lit("w-"), col("id")).as("data")), options)

  /** What the first attempt of a write's task fails with. */
  private def failureOfWrite(options: Map[String, String]): Future[String] = {
    val failed = Promise[String]()
    val tasks  = new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit = end.reason match {
        case failure: ExceptionFailure if failure.toErrorString.contains("PutRecords") =>
          failed.trySuccess(failure.toErrorString)
          spark.sparkContext.cancelJobGroup("stuck write")
        case _ => ()
      }
    }
    spark.sparkContext.addSparkListener(tasks)
    Future {
      spark.sparkContext.setJobGroup("stuck write", "stuck write", interruptOnCancel = true)
      write(options)
    }.onComplete { outcome =>
      spark.sparkContext.removeSparkListener(tasks)
      failed.trySuccess(s"ended without a failed task: $outcome")
    }
    failed.future
  }

  /** Queries with clients that are not made yet. */
  private def othersWork(): Unit = {
    val stream = newStream(shards = 1)
    val plain  = options(stream) + ("applicationId" -> stream.name)
    val others = Future {
      write(plain)
      texts(spark.read.format("kinesis").options(plain).load())
    }
    Await.result(others, 2.minutes) should have size 10
  }

  it(
    "a query whose credentials class takes longer to be made than a call waits starts then, and others start meanwhile"
  ) {
    val stream = newStream(shards = 1)
    val log    = new BatchLog
    val sent   = put(stream, "r", 10)
    val made   = SlowlyMadeCredentials.release
    val query  = reading(by(classOf[SlowlyMadeCredentials], stream, "slow"), log)
    try {
      SlowlyMadeCredentials.begun.await()
      othersWork()
      // Longer than a call waits.
      query.awaitTermination(32000) shouldBe false
      made.countDown()
      eventually(timeout(Span(30, Seconds)))(log.texts.sorted shouldBe sent.sorted)
      query.exception shouldBe None
    } finally {
      made.countDown()
      query.stop()
    }
  }

  it("a query and a write whose credentials never come fail with their class after maxRetryDuration, and others run") {
    val stream = newStream(shards = 1)
    val sent   = put(stream, "r", 10)
    val log    = new BatchLog
    val never  = new CountDownLatch(1)
    val late   = reading(by(classOf[ScriptedCredentials], stream, "late") + Impatient, log)
    eventually(log.texts.sorted shouldBe sent.sorted)
    ScriptedCredentials.during(never.await()) {
      try {
        val early   = reading(by(classOf[ScriptedCredentials], stream, "early") + Impatient, new BatchLog)
        val written = failureOfWrite(by(classOf[ScriptedCredentials], stream, "early") + Impatient)
        othersWork()
        for (failure <- Seq(failureOf(early).getMessage, Await.result(written, 3.minutes), failureOf(late).getMessage))
          failure should (include("KINESIS_CREDENTIALS_TIMED_OUT") and include(ScriptedCredentials.className))
      } finally never.countDown()
    }
  }
}

/** A provider whose constructor waits. */
final class SlowlyMadeCredentials extends AwsCredentialsProvider {
  SlowlyMadeCredentials.begun.countDown()
  SlowlyMadeCredentials.release.await()

  override def resolveCredentials(): AwsCredentials = AwsBasicCredentials.create("test", "test")
}

object SlowlyMadeCredentials {
  val begun, release: CountDownLatch = new CountDownLatch(1)
}
