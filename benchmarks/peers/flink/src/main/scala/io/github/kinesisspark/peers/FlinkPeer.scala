package io.github.kinesisspark.peers

import org.apache.flink.api.common.eventtime.WatermarkStrategy
import org.apache.flink.api.common.functions.MapFunction
import org.apache.flink.api.common.serialization.AbstractDeserializationSchema
import org.apache.flink.configuration.Configuration
import org.apache.flink.connector.aws.config.AWSConfigConstants
import org.apache.flink.connector.kinesis.source.KinesisStreamsSource
import org.apache.flink.connector.kinesis.source.config.KinesisSourceConfigOptions
import org.apache.flink.connector.kinesis.source.config.KinesisSourceConfigOptions.{InitialPosition, ReaderType}
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink

/** Flink's KinesisStreamsSource on a mini-cluster, set as its documentation's first example is. */
object FlinkPeer extends Peer {

  /** The interval of the documentation's examples of checkpoints. */
  private val CheckpointMillis = 5000L

  override def about: String =
    s"`KinesisStreamsSource` of flink-connector-aws-kinesis-streams ${Peer.version("flink-connector-aws-kinesis-streams")}, " +
      s"Flink ${Peer.version("flink-streaming-java")}, mini-cluster, parallelism ${Peer.Parallelism}, default options, " +
      s"a checkpoint in memory each ${CheckpointMillis / 1000} s, no watermarks. A chained map takes the bytes, and `DiscardingSink` follows."

  override def read(way: String, stream: KinesisStream): AutoCloseable = {
    val options = new Configuration
    options.set(KinesisSourceConfigOptions.STREAM_INITIAL_POSITION, InitialPosition.TRIM_HORIZON)
    options.setString(AWSConfigConstants.AWS_ENDPOINT, stream.endpoint)
    options.setString(AWSConfigConstants.AWS_CREDENTIALS_PROVIDER, "BASIC")
    options.setString(AWSConfigConstants.accessKeyId(AWSConfigConstants.AWS_CREDENTIALS_PROVIDER), "test")
    options.setString(AWSConfigConstants.secretKey(AWSConfigConstants.AWS_CREDENTIALS_PROVIDER), "test")
    if (way == "fan-out") {
      options.set(KinesisSourceConfigOptions.READER_TYPE, ReaderType.EFO)
      options.set(KinesisSourceConfigOptions.EFO_CONSUMER_NAME, "flink")
    }
    val source = KinesisStreamsSource
      .builder[Array[Byte]]()
      .setStreamArn(stream.arn)
      .setSourceConfig(options)
      .setDeserializationSchema(new Bytes)
      .build()
    val environment = StreamExecutionEnvironment.createLocalEnvironment(Peer.Parallelism)
    environment.enableCheckpointing(CheckpointMillis)
    environment
      .fromSource(source, WatermarkStrategy.noWatermarks[Array[Byte]](), "Kinesis source")
      .map(new Receive)
      .sinkTo(new DiscardingSink[Integer])
    val job = environment.executeAsync()
    () => job.cancel().get(): Unit
  }

  private final class Bytes extends AbstractDeserializationSchema[Array[Byte]] {
    override def deserialize(data: Array[Byte]): Array[Byte] = data
  }

  private final class Receive extends MapFunction[Array[Byte], Integer] {
    override def map(data: Array[Byte]): Integer = {
      Received.record(data)
      data.length
    }
  }
}
