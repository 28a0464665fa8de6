package io.github.kinesisspark.it.source

import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryException, Trigger}
import org.scalatest.{BeforeAndAfterAll, Outcome}
import org.scalatest.concurrent.{Eventually, TimeLimits}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.services.kinesis.model._
import software.amazon.awssdk.core.SdkBytes

import io.github.kinesisspark.it.{KinesisService, TestRun, TestStream}

/** What tests of the source share: a Spark session, streams that are deleted again, and checkpoints that outlive a query. */
abstract class SourceSuite(start: => KinesisService)
    extends AnyFunSpec
    with Matchers
    with Eventually
    with TimeLimits
    with BeforeAndAfterAll {

  implicit override def patienceConfig: PatienceConfig =
    PatienceConfig(service.patience.atMost, service.patience.every)

  protected lazy val service: KinesisService = start

  /** How [[load]] reads by default. */
  protected def mode: Mode = Mode.Polling

  /** Four tries for a task, as on a cluster: plain `local[2]` gives it one. */
  protected def master: String = "local[2,4]"

  protected def settings: Map[String, String] =
    Map(
      "spark.sql.shuffle.partitions"                    -> "2",
      "spark.ui.enabled"                                -> "false",
      "spark.sql.streaming.noDataProgressEventInterval" -> "1000"
    )

  protected lazy val spark: SparkSession =
    SparkSession.builder().master(master).appName(suiteName).config(settings).getOrCreate()

  /** A test leaves no query and no stream to the next one, even if it fails. */
  override protected def withFixture(test: NoArgTest): Outcome =
    try super.withFixture(test)
    finally {
      spark.streams.active.foreach(_.stop())
      deleteStreams()
    }

  override protected def afterAll(): Unit = {
    spark.streams.active.foreach(_.stop())
    deleteStreams()
    spark.stop()
    super.afterAll()
  }

  /** Whether the server ends with the suite, and so do its streams, which tests may share. Otherwise each test's streams are
    * deleted after it.
    */
  protected def ownsServer: Boolean = false

  private val created = new ConcurrentLinkedQueue[TestStream]

  protected def newStream(shards: Int): TestStream = {
    val stream = new TestStream(service, TestRun.freshName("s"))
    service.call(_.createStream(r => r.streamName(stream.name).shardCount(shards)))
    created.add(stream)
    eventually(stream.status() shouldBe StreamStatus.ACTIVE)
    stream
  }

  private def deleteStreams(): Unit = if (!ownsServer)
    Iterator.continually(created.poll()).takeWhile(_ != null).foreach { stream =>
      eventually {
        // Only ACTIVE streams can be deleted, and a test may have deleted its own.
        try {
          stream.status() shouldBe StreamStatus.ACTIVE
          service.call(_.deleteStream(r => r.streamName(stream.name).enforceConsumerDeletion(true))): Unit
        } catch { case _: ResourceNotFoundException => () }
      }
    }

  /** The open shards, once so many are listed and the next reshard is allowed: a listing may lag behind a reshard. */
  protected def awaitOpen(stream: TestStream, count: Int): Seq[Shard] = eventually {
    val open = stream.openShards()
    open should have size count.toLong
    stream.status() shouldBe StreamStatus.ACTIVE
    open
  }

  /** Puts `count` records named `prefix-i`, spread over the shards by their keys; they are in when this returns. */
  protected def put(stream: TestStream, prefix: String, count: Int): Seq[String] = {
    val texts = (0 until count).map(i => s"$prefix-$i")
    texts.grouped(500).foreach { group =>
      var rest: Seq[PutRecordsRequestEntry] =
        group.map(t => PutRecordsRequestEntry.builder.partitionKey(t).data(SdkBytes.fromUtf8String(t)).build)
      // A shard takes 1,000 records a second; those it refuses are put again.
      eventually {
        rest = stream.putAll(rest)
        rest shouldBe empty
      }
    }
    texts
  }

  protected def options(stream: TestStream): Map[String, String] = service.options + ("streamName" -> stream.name)

  protected def load(stream: TestStream, more: (String, String)*): DataFrame =
    spark.readStream
      .format("kinesis")
      .options(options(stream) + ("startingPosition" -> "TRIM_HORIZON") ++ mode.options ++ more)
      .load()

  protected def save(rows: DataFrame, stream: TestStream, more: (String, String)*): Unit =
    save(rows, options(stream) ++ more)

  protected def save(rows: DataFrame, options: Map[String, String]): Unit =
    rows.write.format("kinesis").options(options).mode("append").save()

  protected def texts(batch: DataFrame): Seq[String] =
    batch.selectExpr("cast(data as string)").collect().iterator.map(_.getString(0)).toSeq

  /** Each shard's records came in the order of their sequence numbers. */
  protected def inOrder(log: BatchLog): Unit = log.rows
    .groupBy(_.shardId)
    .values
    .foreach(rows => rows.map(_.sequenceNumber) shouldBe rows.map(_.sequenceNumber).sorted)

  protected def checkpoint(): Path = Files.createTempDirectory("checkpoint-")

  /** Starts a query that hands each batch to `use`, runs `body` and stops it. */
  protected def running[A](frame: DataFrame, at: Path)(use: (DataFrame, Long) => Unit)(body: StreamingQuery => A): A = {
    val query = frame.writeStream.option("checkpointLocation", at.toString).foreachBatch(use).start()
    try body(query)
    finally query.stop()
  }

  /** A query that the caller stops, or that fails. */
  protected def start(stream: TestStream, at: Path): StreamingQuery = start(stream, at, new BatchLog)

  protected def start(stream: TestStream, at: Path, log: BatchLog, more: (String, String)*): StreamingQuery =
    load(stream, more: _*).writeStream
      .option("checkpointLocation", at.toString)
      .foreachBatch((batch: DataFrame, id: Long) => log.add(batch, id))
      .start()

  protected def start(frame: DataFrame, at: Path, trigger: Trigger)(use: (DataFrame, Long) => Unit): StreamingQuery =
    frame.writeStream.option("checkpointLocation", at.toString).trigger(trigger).foreachBatch(use).start()

  /** What the query's latest progress has of its source. */
  protected def metric(query: StreamingQuery, name: String): Long =
    query.recentProgress
      .flatMap(_.sources)
      .map(_.metrics)
      .filter(_.containsKey(name))
      .map(_.get(name).toLong)
      .lastOption
      .getOrElse(fail(s"no metric $name"))

  /** The error that ends the query. */
  protected def failureOf(query: StreamingQuery): Throwable =
    intercept[StreamingQueryException](query.awaitTermination(180000)).getCause

  /** Until the last batch is committed as well: a query that is stopped before would run it again. The file itself must be there,
    * not one that is on its way to it.
    */
  protected def awaitCommit(checkpoint: Path, log: BatchLog): Unit =
    eventually(Files.exists(checkpoint.resolve("commits").resolve(log.all.last._1.toString)) shouldBe true): Unit

  /** As after a crash between a batch and its commit; a query that was stopped there needs no more. */
  protected def eraseCommit(checkpoint: Path, batch: Long): Unit =
    logEntries(checkpoint.resolve("commits"), batch).foreach(Files.delete)

  /** The files of a log from this batch on, with their checksums: Spark refuses a file that doesn't match its own. */
  protected def logEntries(log: Path, batch: Long): Vector[Path] = Files
    .list(log)
    .iterator
    .asScala
    .filter(f => f.getFileName.toString.stripPrefix(".").takeWhile(_.isDigit).toLongOption.exists(_ >= batch))
    .toVector
}
