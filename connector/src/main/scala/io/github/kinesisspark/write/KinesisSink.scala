package io.github.kinesisspark.write

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.kinesisspark.UpdatesAsAppends
import org.apache.spark.sql.connector.catalog.{SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.types.StructType

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{DatasetName, Endpoints, Regions}
import io.github.kinesisspark.config.SinkOptions

/** What `write` and `writeStream` append rows to. The columns are checked when it is made, before anything runs.
  *
  * @throws SinkSchemaException for columns that can't be written
  */
final class KinesisSink(override val schema: StructType, options: SinkOptions)
    extends Table
    with SupportsWrite
    with ReportsSinkMetrics {

  SinkSchema.columnsOf(schema, options.stream): Unit

  private val counts = new SinkMetrics

  // Once for all batches of a query: the machine's metadata may be slow, or fail.
  private lazy val withEndpoints = options.mapClients(Endpoints.located)
  private lazy val withRegions   = Regions.located(withEndpoints)

  override def name(): String = s"kinesis ${options.stream.fold("by the column targetStream")(_.name)}"

  override def properties(): util.Map[String, String] =
    DatasetName.properties(options.stream.map(ref => ref -> options.clientOf(ref)))

  // Without the last, Spark would compare the rows with the table's columns by place.
  override def capabilities(): util.Set[TableCapability] =
    Set(TableCapability.BATCH_WRITE, TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA).asJava

  // Changed rows of an update are appended, as to Kafka.
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder with UpdatesAsAppends {
    override def build(): Write =
      new KinesisWrite(
        name(),
        SinkSchema.columnsOf(info.schema, options.stream),
        withEndpoints,
        withRegions,
        info.queryId,
        counts
      )
  }

  override def metrics(): util.Map[String, String] = counts.toJava
}

/** @param options     in which each client has an endpoint if the machine has one
  * @param withRegions and a region, too
  */
private final class KinesisWrite(
    name: String,
    columns: SinkColumns,
    options: SinkOptions,
    withRegions: => SinkOptions,
    queryId: String,
    counts: SinkMetrics
) extends Write {

  override def description(): String = name

  override def supportedCustomMetrics(): Array[CustomMetric] = SinkMetrics.supported

  override def toBatch: BatchWrite = new BatchWrite {
    override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = factory()
    override def useCommitCoordinator(): Boolean                                      = false
    override def commit(messages: Array[WriterCommitMessage]): Unit                   = done(messages)
    override def abort(messages: Array[WriterCommitMessage]): Unit                    = ()
  }

  override def toStreaming: StreamingWrite = new StreamingWrite {
    override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = factory()
    override def useCommitCoordinator(): Boolean                                                   = false
    override def commit(batch: Long, messages: Array[WriterCommitMessage]): Unit                   = done(messages)
    override def abort(batch: Long, messages: Array[WriterCommitMessage]): Unit                    = ()
  }

  private def factory() = {
    val isRegionKnown = columns.targetStream.isEmpty && options.stream.exists(_.arn.nonEmpty)
    new KinesisWriterFactory(columns, if (isRegionKnown) options else withRegions, queryId, counts.hasWritten)
  }

  /** Nothing is left to commit: the tasks' records are in their streams. */
  private def done(messages: Array[WriterCommitMessage]): Unit = {
    val sum = messages.collect { case ofTask: SinkCounts => ofTask }.fold(SinkCounts.none)(_ + _)
    counts.add(sum)
    if (sum.skipped > 0)
      KinesisWrite.log.warn(
        s"$name: ${sum.skipped} rows that can never be written were skipped, ${sum.sent.records} records written"
      )
  }
}

private object KinesisWrite {
  private val log = LoggerFactory.getLogger(classOf[KinesisSink])
}
