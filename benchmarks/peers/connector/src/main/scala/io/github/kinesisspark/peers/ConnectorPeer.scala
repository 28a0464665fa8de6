package io.github.kinesisspark.peers

import java.nio.file.Files

import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.types.IntegerType
import org.apache.spark.sql.{ForeachWriter, Row, SparkSession}

/** This connector. */
object ConnectorPeer extends Peer {
  private lazy val spark = SparkSession
    .builder()
    .master(s"local[${Peer.Parallelism}]")
    .config("spark.ui.enabled", "false")
    .config("spark.log.level", "ERROR")
    .getOrCreate()

  private lazy val receive = udf(new Receive, IntegerType)

  override def about: String =
    s"Spark ${spark.version}, `local[${Peer.Parallelism}]`, default options. Micro-batches run one after the other, without an interval, " +
      "and a function takes `data`; real-time mode has batches of 5 minutes and a `ForeachWriter`."

  override def read(way: String, stream: KinesisStream): AutoCloseable = {
    val rows = spark.readStream
      .format("kinesis")
      .option("streamName", stream.name)
      .option("region", Peer.Region)
      .option("endpoint", stream.endpoint)
      .option("accessKeyId", "test")
      .option("secretAccessKey", "test")
      .option("startingPosition", "TRIM_HORIZON")
      .option("recordPublisher", if (way.endsWith("fan-out")) "efo" else "polling")
      .option("efo.consumerName", "connector")
      .load()
    val writer =
      if (way.startsWith("real-time"))
        rows
          .select("data")
          .writeStream
          .foreach(new Receiver)
          .outputMode("update")
          .trigger(Trigger.RealTime("5 minutes"))
      else rows.select(receive(col("data"))).writeStream.format("noop")
    val query = writer.option("checkpointLocation", Files.createTempDirectory("peers").toString).start()
    () => query.stop()
  }

  private final class Receiver extends ForeachWriter[Row] {
    override def open(partition: Long, epoch: Long): Boolean = true
    override def process(row: Row): Unit                     = Received.record(row.getAs[Array[Byte]](0))
    override def close(error: Throwable): Unit               = ()
  }
}
