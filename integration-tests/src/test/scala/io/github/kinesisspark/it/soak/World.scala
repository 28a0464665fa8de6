package io.github.kinesisspark.it.soak

import java.nio.file.{Files, Path}

import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.streaming.StreamingQuery
import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, StaticCredentialsProvider}
import software.amazon.awssdk.regions.Region

import io.github.kinesisspark.it.KinesisService
import io.github.kinesisspark.testkit.{KinesisServer, KinesisServerConfig, SubscriptionSettings}
import io.github.kinesisspark.testkit.model.ConsumerDelays

/** Where the soak takes place: a server with the service's limits and short subscriptions, a stream, a Spark session, and
  * queries on one checkpoint.
  */
final class World(shards: Int) extends AutoCloseable {
  import World._

  val stream = "soak"

  val server: KinesisServer = KinesisServer.start(
    KinesisServerConfig(
      enforceLimits = true,
      consumerDelays = ConsumerDelays(create = 300.millis, delete = 500.millis),
      subscriptions = SubscriptionSettings(life = 5.seconds, heartbeat = 2.seconds),
      recentCalls = 0
    )
  )
  server.streams.createStream(stream, shards)

  private val service = new KinesisService(
    Some(server.endpoint),
    Region.of(server.region),
    StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test")),
    () => server.close()
  )
  private val arn = service.call(_.describeStreamSummary(r => r.streamName(stream))).streamDescriptionSummary.streamARN
  private val checkpoint = Files.createTempDirectory("soak-").toString
  private val scratch    = Files.createTempDirectory("soak-local-")
  private val spark      = session(scratch)

  /** Spark's, on this machine. */
  def temporaryFiles: Int = FilesIn.count(scratch)

  def query(take: (DataFrame, Long) => Unit): StreamingQuery = query(take, Map.empty)

  /** @param instead of the options by which it reads otherwise */
  def query(take: (DataFrame, Long) => Unit, instead: Map[String, String]): StreamingQuery = spark.readStream
    .format("kinesis")
    .options(
      Map(
        "streamName"      -> stream,
        "region"          -> server.region,
        "endpoint"        -> server.endpoint.toString,
        "accessKeyId"     -> "test",
        "secretAccessKey" -> "test"
      ) ++ reading ++ instead
    )
    .load()
    .writeStream
    .option("checkpointLocation", checkpoint)
    .foreachBatch(take)
    .start()

  /** As somebody else would. Whether it could be done: the nemesis may be in its own way. */
  def deregister(): Boolean =
    try {
      service.call(_.deregisterStreamConsumer(r => r.streamARN(arn).consumerName(Consumer)))
      true
    } catch { case NonFatal(_) => false }

  override def close(): Unit =
    try spark.stop()
    finally service.close()
}

object World {
  private val Consumer = "soak"

  private val reading = Map(
    "startingPosition" -> "TRIM_HORIZON",
    "recordPublisher"  -> "efo",
    "efo.consumerName" -> Consumer,
    // So that a query that starts again meets the places of its own old subscriptions.
    "efo.deregisterOnStop"   -> "false",
    "shardDiscoveryInterval" -> "2s",
    // The least there can be, for backpressure.
    "readerBufferSize" -> "16m",
    // Faults come thicker here than anywhere; what is looked for is what they break, not when a query gives up.
    "efo.subscribeToShard.maxRetries"   -> "12",
    "efo.subscribeToShard.backoff.base" -> "300ms",
    "efo.subscribeToShard.backoff.max"  -> "1s"
  )

  private def session(scratch: Path): SparkSession = {
    val spark = SparkSession
      .builder()
      .master("local[2,4]")
      .appName("soak")
      .config(
        Map(
          "spark.ui.enabled"                -> "false",
          "spark.local.dir"                 -> scratch.toString,
          "spark.sql.shuffle.partitions"    -> "2",
          "spark.sql.streaming.stopTimeout" -> "180s",
          // What Spark remembers for its UI grows up to these.
          "spark.ui.retainedJobs"                        -> "20",
          "spark.ui.retainedStages"                      -> "20",
          "spark.ui.retainedTasks"                       -> "100",
          "spark.sql.ui.retainedExecutions"              -> "20",
          "spark.sql.streaming.numRecentProgressUpdates" -> "5"
        )
      )
      .getOrCreate()
    // The connector tells of every setback, and here are thousands.
    spark.sparkContext.setLogLevel("ERROR")
    spark
  }
}
