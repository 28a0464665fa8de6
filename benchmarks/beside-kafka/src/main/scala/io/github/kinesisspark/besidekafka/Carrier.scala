package io.github.kinesisspark.besidekafka

import java.util.Properties

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.admin.{Admin, NewTopic}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.serialization.StringSerializer
import org.apache.spark.sql.streaming.DataStreamWriter
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

import io.github.kinesisspark.shaded.software.amazon.awssdk.auth.credentials.{
  AwsBasicCredentials,
  StaticCredentialsProvider
}
import io.github.kinesisspark.shaded.software.amazon.awssdk.core.SdkBytes
import io.github.kinesisspark.shaded.software.amazon.awssdk.regions.Region
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry

/** What texts come from and go to, in logs of [[Carrier.Parts]] parts each. */
trait Carrier extends AutoCloseable {
  def name: String
  def create(log: String): Unit

  /** Texts under their keys, all at once. */
  def put(log: String, texts: Seq[(String, String)]): Unit

  /** A stream of all texts, as `text`, and when they came, as `arrived`. */
  def source(spark: SparkSession, log: String): DataFrame

  /** @param texts with `key` and `text` */
  def sink(texts: DataFrame, log: String): DataStreamWriter[Row]

  /** All that is in it now, as `text` and `arrived`. */
  def content(spark: SparkSession, log: String): DataFrame
}

object Carrier {
  val Parts = 4
}

/** Apache Kafka, by Spark's own source and sink. */
final class Kafka(address: String) extends Carrier {
  private val settings = {
    val all = new Properties
    all.setProperty("bootstrap.servers", address)
    all
  }
  private val producer = {
    val all = settings.clone().asInstanceOf[Properties]
    // Each put at once, as PutRecords.
    all.setProperty("linger.ms", "0")
    new KafkaProducer[String, String](all, new StringSerializer, new StringSerializer)
  }

  override def name: String = "Kafka"

  override def create(log: String): Unit = {
    val topic =
      new NewTopic(log, Carrier.Parts, 1.toShort).configs(Map("message.timestamp.type" -> "LogAppendTime").asJava)
    Using.resource(Admin.create(settings))(_.createTopics(Seq(topic).asJava).all().get()): Unit
  }

  override def put(log: String, texts: Seq[(String, String)]): Unit =
    texts.foreach { case (key, text) => producer.send(new ProducerRecord(log, key, text)) }

  private val options = Map("kafka.bootstrap.servers" -> address, "startingOffsets" -> "earliest")

  private def named(rows: DataFrame) = rows.selectExpr("CAST(value AS STRING) AS text", "timestamp AS arrived")

  override def source(spark: SparkSession, log: String): DataFrame =
    named(spark.readStream.format("kafka").options(options).option("subscribe", log).load())

  override def content(spark: SparkSession, log: String): DataFrame =
    named(spark.read.format("kafka").options(options).option("subscribe", log).load())

  override def sink(texts: DataFrame, log: String): DataStreamWriter[Row] =
    texts
      .selectExpr("key", "text AS value")
      .writeStream
      .format("kafka")
      .option("kafka.bootstrap.servers", address)
      .option("topic", log)

  override def close(): Unit = producer.close()
}

/** Kinesis, by this connector with default options and enhanced fan-out. */
final class Kinesis(endpoint: String) extends Carrier {
  private val client = KinesisAsyncClient.builder
    .region(Region.US_EAST_1)
    .endpointOverride(java.net.URI.create(endpoint))
    .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test")))
    .build

  override def name: String = "Kinesis"

  override def create(log: String): Unit = {
    client.createStream(r => r.streamName(log).shardCount(Carrier.Parts): Unit).join()
    client.waiter.waitUntilStreamExists(r => r.streamName(log): Unit).join(): Unit
  }

  override def put(log: String, texts: Seq[(String, String)]): Unit = {
    val entries = texts.map { case (key, text) =>
      PutRecordsRequestEntry.builder.partitionKey(key).data(SdkBytes.fromUtf8String(text)).build
    }
    client.putRecords(r => r.streamName(log).records(entries.asJava): Unit): Unit
  }

  private val options = Map(
    "region"          -> "us-east-1",
    "endpoint"        -> endpoint,
    "accessKeyId"     -> "test",
    "secretAccessKey" -> "test"
  )

  private def of(log: String) = options ++ Map("streamName" -> log, "startingPosition" -> "TRIM_HORIZON")

  private def named(rows: DataFrame) =
    rows.selectExpr("CAST(data AS STRING) AS text", "approximateArrivalTimestamp AS arrived")

  override def source(spark: SparkSession, log: String): DataFrame = named(
    spark.readStream
      .format("kinesis")
      .options(of(log))
      .option("recordPublisher", "efo")
      .option("efo.consumerName", log)
      .load()
  )

  override def content(spark: SparkSession, log: String): DataFrame =
    named(spark.read.format("kinesis").options(of(log)).load())

  override def sink(texts: DataFrame, log: String): DataStreamWriter[Row] =
    texts
      .selectExpr("key AS partitionKey", "text AS data")
      .writeStream
      .format("kinesis")
      .options(options)
      .option("streamName", log)
      // Spark knows the sinks of its own alone.
      .option("_asyncProgressTrackingOverrideSinkSupportCheck", "true")

  override def close(): Unit = client.close()
}
