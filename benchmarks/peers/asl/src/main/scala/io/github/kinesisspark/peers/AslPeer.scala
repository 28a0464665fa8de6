package io.github.kinesisspark.peers

import org.apache.spark.storage.StorageLevel
import org.apache.spark.streaming.kinesis.{KinesisInitialPositions, KinesisInputDStream, SparkAWSCredentials}
import org.apache.spark.streaming.{Milliseconds, StreamingContext}
import org.apache.spark.{SparkConf, SparkContext}
import software.amazon.kinesis.metrics.MetricsLevel

/** Spark's own DStream over the Kinesis Client Library, with one receiver. Its leases are in DynamoDB Local. */
object AslPeer extends Peer {

  /** The least that Spark's tuning guide found good for many applications. */
  private val Batch = Milliseconds(500)

  /** A receiver takes a core for itself. */
  private val Cores = Peer.Parallelism + 1

  private lazy val context = {
    val spark = new SparkContext(
      new SparkConf().setMaster(s"local[$Cores]").setAppName("asl").set("spark.ui.enabled", "false")
    )
    spark.setLogLevel("ERROR")
    spark
  }

  override def about: String =
    s"spark-streaming-kinesis-asl ${Peer.version("spark-streaming-kinesis-asl_2.13")} on Spark ${context.version} with " +
      s"amazon-kinesis-client ${Peer.version("amazon-kinesis-client")} and DynamoDB Local, `local[$Cores]` with one receiver, batches of " +
      s"${Batch.milliseconds} ms, the same checkpoint interval, `MEMORY_AND_DISK_2`, no CloudWatch metrics. `foreachRDD` takes the bytes."

  override def read(way: String, stream: KinesisStream): AutoCloseable = {
    val streaming = new StreamingContext(context, Batch)
    KinesisInputDStream.builder
      .streamingContext(streaming)
      .streamName(stream.name)
      .endpointUrl(stream.endpoint)
      .regionName(Peer.Region)
      .initialPosition(new KinesisInitialPositions.TrimHorizon)
      .checkpointAppName(s"asl-${stream.name}")
      .checkpointInterval(Batch)
      .storageLevel(StorageLevel.MEMORY_AND_DISK_2)
      .kinesisCredentials(SparkAWSCredentials.builder.basicCredentials("test", "test").build())
      .metricsLevel(MetricsLevel.NONE)
      .build()
      .foreachRDD(_.foreach(Received.record(_)))
    streaming.start()
    () => streaming.stop(stopSparkContext = false)
  }
}
