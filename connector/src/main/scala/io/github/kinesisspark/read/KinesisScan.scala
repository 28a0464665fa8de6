package io.github.kinesisspark.read

import java.util.OptionalLong

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.types.StructType

import io.github.kinesisspark.config.{OptionException, SourceOptions, StreamOptions}
import io.github.kinesisspark.read.batch.{BatchSnapshot, KinesisBatch}
import io.github.kinesisspark.read.coordinator.DriverRuntime
import io.github.kinesisspark.read.row.{RowFilter, SourceSchema}
import io.github.kinesisspark.read.stream.KinesisStream

/** Takes over what a query asks of the columns, so that no more than that is read and built. Spark does it for batch reads only.
  *
  * Every filter is left for Spark to evaluate as well: it is exact there, and only saves reading here.
  */
final class KinesisScanBuilder(name: String, options: SourceOptions, snapshot: () => BatchSnapshot)
    extends ScanBuilder
    with SupportsPushDownV2Filters
    with SupportsPushDownRequiredColumns {
  private var columns = SourceSchema.schema
  private var filters = Array.empty[Predicate]

  override def pushPredicates(predicates: Array[Predicate]): Array[Predicate] = {
    filters = predicates.filter(RowFilter.isOfUse)
    predicates
  }

  override def pushedPredicates(): Array[Predicate] = filters

  override def pruneColumns(required: StructType): Unit = columns = required

  override def build(): Scan = new KinesisScan(name, options, columns, RowFilter.of(filters.toSeq), snapshot)
}

private final class KinesisScan(
    name: String,
    options: SourceOptions,
    columns: StructType,
    filter: RowFilter,
    snapshot: () => BatchSnapshot
) extends Scan
    with SupportsReportStatistics {

  private lazy val batch  = new KinesisBatch(options, columns, filter, snapshot(), DriverRuntime.ofJvm.clients)
  private var isStreaming = false

  override def readSchema(): StructType = columns

  override def description(): String = if (filter == RowFilter.all) name else s"$name, $filter"

  /** What is known of the size: bytes are at most those, for that is what the shards could take in the time. Spark asks for those
    * of a streaming query, too, which has none.
    */
  override def estimateStatistics(): Statistics = new Statistics {
    private val most = Option.when(!isStreaming)(batch.mostBytes)
    private val rows = Option.when(!isStreaming)(batch.rows).flatten

    override def sizeInBytes(): OptionalLong = most.fold(OptionalLong.empty())(OptionalLong.of)
    override def numRows(): OptionalLong     = rows.fold(OptionalLong.empty())(OptionalLong.of)
  }

  /** Otherwise Spark makes the reader factory when it plans, also for `EXPLAIN`. That of a batch read registers a consumer. */
  override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED

  override def toBatch: Batch = batch

  override def toMicroBatchStream(checkpointLocation: String): MicroBatchStream = {
    if (options.streams.exists(_.endingPosition.nonEmpty))
      throw new OptionException(
        Seq(
          s"'${StreamOptions.endingPosition.name}' is of batch reads (spark.read): a streaming query has no end. Leave it out; or " +
            "use Trigger.AvailableNow, which ends with what is there when the query starts."
        )
      )
    require(columns == SourceSchema.schema, s"A streaming query reads all columns, and Spark asks for $columns")
    isStreaming = true
    KinesisStream.of(options, SparkSession.active.sparkContext, DriverRuntime.ofJvm)
  }
}
