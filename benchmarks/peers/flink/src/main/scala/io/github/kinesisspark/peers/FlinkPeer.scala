package io.github.kinesisspark.peers

import java.util.Properties

import scala.annotation.nowarn

import org.apache.flink.api.common.functions.MapFunction
import org.apache.flink.api.common.serialization.AbstractDeserializationSchema
import org.apache.flink.kinesis.shaded.org.apache.flink.connector.aws.config.AWSConfigConstants
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink
import org.apache.flink.streaming.connectors.kinesis.FlinkKinesisConsumer
import org.apache.flink.streaming.connectors.kinesis.config.ConsumerConfigConstants

/** Flink's FlinkKinesisConsumer on a mini-cluster, set as its documentation's examples are. */
object FlinkPeer extends Peer {

  /** The interval of the documentation's examples of checkpoints. */
  private val CheckpointMillis = 5000L

  override def about: String =
    s"`FlinkKinesisConsumer` of flink-connector-kinesis ${Peer.version("flink-connector-kinesis")}, " +
      s"Flink ${Peer.version("flink-streaming-java")}, mini-cluster, parallelism ${Peer.Parallelism}, default options, " +
      s"a checkpoint in memory each ${CheckpointMillis / 1000} s, no watermarks; without pauses `${ConsumerConfigConstants.SHARD_GETRECORDS_INTERVAL_MILLIS}` is 0. A chained map takes the bytes, and `DiscardingSink` follows."

  // Flink's sources of this kind are deprecated, and this connector has none of the other kind.
  @nowarn("cat=deprecation")
  override def read(way: String, stream: KinesisStream): AutoCloseable = {
    val options = new Properties
    options.setProperty(AWSConfigConstants.AWS_REGION, Peer.Region)
    options.setProperty(AWSConfigConstants.AWS_ENDPOINT, stream.endpoint)
    options.setProperty(AWSConfigConstants.AWS_ACCESS_KEY_ID, "test")
    options.setProperty(AWSConfigConstants.AWS_SECRET_ACCESS_KEY, "test")
    options.setProperty(ConsumerConfigConstants.STREAM_INITIAL_POSITION, "TRIM_HORIZON")
    if (way == "fan-out") {
      options.setProperty(ConsumerConfigConstants.RECORD_PUBLISHER_TYPE, "EFO")
      options.setProperty(ConsumerConfigConstants.EFO_CONSUMER_NAME, "flink")
    }
    if (way == Peer.Unpaused) options.setProperty(ConsumerConfigConstants.SHARD_GETRECORDS_INTERVAL_MILLIS, "0")
    val environment = StreamExecutionEnvironment.createLocalEnvironment(Peer.Parallelism)
    environment.enableCheckpointing(CheckpointMillis)
    environment
      .addSource(new FlinkKinesisConsumer[Array[Byte]](stream.name, new Bytes, options))
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
