package io.github.kinesisspark.write

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.write.{DataWriter, DataWriterFactory, WriterCommitMessage}
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory
import org.slf4j.LoggerFactory

import io.github.kinesisspark.aggregation.AggregatedRecord
import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.config.{BadRecords, Linger, SinkOptions}
import io.github.kinesisspark.jar.FromDriver
import io.github.kinesisspark.runtime.{Closing, Runtime}
import io.github.kinesisspark.write.pack.Packing
import io.github.kinesisspark.write.send.{BadRecord, Entry, SendSettings, Sending}

/** Writes the rows of one task. All of them are in their streams when it is committed, and some of them before.
  *
  * @param linger     how long rows wait for a fuller call; left out, until it is full
  * @param hasWritten whether a task of this query has written before
  */
private[write] final class KinesisDataWriter(
    rows: RowReader,
    options: SinkOptions,
    linger: Option[Linger],
    hasWritten: Boolean,
    writers: WriterRuntime
) extends DataWriter[InternalRow] {

  private val task    = Option(TaskContext.get())
  private val bad     = new BadRows(options.badRecords)
  private val raw     = new AggregatedRows()(writers.runtime)
  private val calls   = new PutRecordsCalls(options.clientOf, hasWritten, () => isKilled, writers)
  private val packing = options.aggregateSize.fold[Packing](new Packing.Plain)(
    new Packing.Aggregated(_, options.ordered, calls.shards)
  )
  private val records = new TaskWriter(
    Sending(
      SendSettings(
        // Of aggregated records, packing keeps the order: their own keys say nothing of it.
        options.ordered && options.aggregateSize.isEmpty,
        options.bufferSize,
        options.maxInFlightCalls,
        options.client.retries
      )
    ),
    packing,
    calls.put,
    bad.add,
    () => isKilled,
    linger,
    writers
  )

  private def isKilled = task.exists(_.isInterrupted())

  override def write(row: InternalRow): Unit = rows.read(row) match {
    case Right(entry) =>
      raw.look(entry)
      records.write(entry)
    case Left(wrong) => bad.add(wrong)
  }

  override def commit(): WriterCommitMessage = {
    records.flush()
    counts
  }

  // Records that are sent stay in their streams.
  override def abort(): Unit = ()

  override def close(): Unit = Closing.all(records, calls)

  override def currentMetricsValues(): Array[CustomTaskMetric] = SinkMetrics.ofTask(counts)

  private def counts = records.counts.copy(skipped = bad.skipped)
}

/** Travels to the executors.
  *
  * @param run        the query, by its ID
  * @param hasWritten whether one of its tasks has written before
  */
private[write] final class KinesisWriterFactory(
    columns: SinkColumns,
    options: SinkOptions,
    run: String,
    private[write] val hasWritten: Boolean
) extends DataWriterFactory
    with StreamingDataWriterFactory {

  override def createWriter(partition: Int, taskId: Long): DataWriter[InternalRow] =
    writer(run, partition, linger = None)

  override def createWriter(partition: Int, taskId: Long, batch: Long): DataWriter[InternalRow] =
    writer(s"$run-$batch", partition, Some(options.linger))

  private def writeReplace(): AnyRef =
    FromDriver(KinesisWriterFactory.Written(columns, options, run, hasWritten))

  private def writer(run: String, partition: Int, linger: Option[Linger]) =
    new KinesisDataWriter(
      new RowReader(columns, options.stream, run, partition),
      options,
      linger,
      hasWritten,
      WriterRuntime.ofJvm
    )
}

private object KinesisWriterFactory {
  private final case class Written(
      columns: SinkColumns,
      options: SinkOptions,
      run: String,
      hasWritten: Boolean
  ) {
    private def readResolve(): AnyRef = new KinesisWriterFactory(columns, options, run, hasWritten)
  }
}

/** Warns of a task's first row whose data is an aggregated record, and looks at no further rows. The task's thread calls it. */
private[write] final class AggregatedRows(implicit runtime: Runtime) {
  private var isFound = false

  def look(row: Entry): Unit = if (!isFound && AggregatedRecord.isAggregated(row.data)) {
    isFound = true
    runtime.lines.warn(AggregatedRows.log, s"aggregated ${row.stream}", row.row.task)(
      s"Row ${row.row} for stream ${row.stream} is an aggregated record, as deaggregate=false returns them. Readers leave out its user records whose hash " +
        "keys belong to another shard than the one that the row goes to. To copy all of them, read the source with deaggregate=true; or read the target with " +
        "deaggregate=false."
    )
  }
}

private object AggregatedRows {
  private val log = LoggerFactory.getLogger(classOf[AggregatedRows])
}

/** Fails with, or skips, the rows of one task that can never be written. The task's thread and its timer call it. */
private[write] final class BadRows(treatment: BadRecords) {
  import BadRows._

  private val count = new AtomicLong

  def skipped: Long = count.get

  /** @throws KinesisException `KINESIS_BAD_RECORD`, unless such rows are skipped */
  def add(record: BadRecord): Unit = treatment match {
    case BadRecords.Fail =>
      throw new KinesisException(
        "KINESIS_BAD_RECORD",
        s"This row can never be written: $record The rows of its call were not sent. Mend it or leave it out; or set badRecords " +
          "to skip, to count such rows and continue."
      )
    case BadRecords.Skip =>
      val nth = count.incrementAndGet()
      if (nth <= Samples)
        log.warn(s"Skipped $record" + (if (nth == Samples) " Further ones are only counted." else ""))
  }
}

private object BadRows {
  private val log     = LoggerFactory.getLogger(classOf[BadRows])
  private val Samples = 5
}
