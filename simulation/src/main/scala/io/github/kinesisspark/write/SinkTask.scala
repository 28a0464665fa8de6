package io.github.kinesisspark.write

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.DataWriter
import org.apache.spark.sql.types.{BinaryType, StringType, StructField, StructType}

import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.SinkOptions

/** The sink in one executor of a simulation: rows of data and partition key. */
final class SinkTask(clients: KinesisClients) {
  private val writers = new WriterRuntime(clients)

  def writer(options: SinkOptions, batch: Long): DataWriter[InternalRow] = new KinesisDataWriter(
    new RowReader(SinkSchema.columnsOf(SinkTask.Schema, options.stream), options.stream, s"run-$batch", task = 0),
    options,
    Some(options.linger),
    hasWritten = false,
    writers
  )
}

object SinkTask {
  private val Schema = StructType(Seq(StructField("data", BinaryType), StructField("partitionKey", StringType)))
}
