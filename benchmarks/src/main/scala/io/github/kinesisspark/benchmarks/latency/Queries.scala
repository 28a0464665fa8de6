package io.github.kinesisspark.benchmarks.latency

import java.nio.file.Files

import org.apache.spark.sql.{ForeachWriter, Row, SparkSession}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

/** Queries that hand each record to a program, which notes when it came. */
object Queries {

  def kinesis(
      spark: SparkSession,
      options: Map[String, String],
      trigger: Trigger,
      recorder: Samples.Recorder
  ): StreamingQuery = spark.readStream
    .format("kinesis")
    .options(options)
    .load()
    .select("data")
    .writeStream
    .foreach(new Arrivals(recorder))
    .outputMode("update")
    .option("checkpointLocation", Files.createTempDirectory("latency").toString)
    .trigger(trigger)
    .start()

  /** Batches of a source that never waits and has nothing to read: what is left is Spark's own. */
  def nothingToRead(spark: SparkSession): StreamingQuery = spark.readStream
    .format("rate-micro-batch")
    .option("rowsPerBatch", "10")
    .option("numPartitions", "2")
    .load()
    .writeStream
    .foreach(new Nowhere)
    .option("checkpointLocation", Files.createTempDirectory("latency").toString)
    .start()

  private final class Arrivals(recorder: Samples.Recorder) extends ForeachWriter[Row] {
    override def open(partition: Long, epoch: Long): Boolean = true
    override def process(row: Row): Unit       = recorder.arrived(Producer.timeOf(row.getAs[Array[Byte]](0)))
    override def close(error: Throwable): Unit = ()
  }

  private final class Nowhere extends ForeachWriter[Row] {
    override def open(partition: Long, epoch: Long): Boolean = true
    override def process(row: Row): Unit                     = ()
    override def close(error: Throwable): Unit               = ()
  }
}
