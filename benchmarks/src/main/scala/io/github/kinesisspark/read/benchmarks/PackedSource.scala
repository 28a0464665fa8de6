package io.github.kinesisspark.read.benchmarks

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.github.kinesisspark.benchmarks.RowQueries
import io.github.kinesisspark.read.reader.KinesisRecord
import io.github.kinesisspark.read.row.{RecordRow, RecordRows, SourceSchema}

/** A source of records that are packed in memory, many times over, for one task. Options: `way`, as of [[RowPath]], and `size`. */
final class PackedSource extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = SourceSchema.schema

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = new Table with SupportsRead {
    override def name(): String                                                 = "packed"
    override def schema(): StructType                                           = SourceSchema.schema
    override def capabilities(): util.Set[TableCapability]                      = Set(TableCapability.BATCH_READ).asJava
    override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
      new PackedScan(options.get("way"), PackedRecords.of(options.getInt("size", 0)))
  }
}

private final class PackedScan(path: String, records: Array[KinesisRecord])
    extends ScanBuilder
    with Scan
    with Batch
    with SupportsPushDownRequiredColumns {
  private var columns = SourceSchema.schema

  override def pruneColumns(required: StructType): Unit      = columns = required
  override def build(): Scan                                 = this
  override def readSchema(): StructType                      = columns
  override def toBatch: Batch                                = this
  override def planInputPartitions(): Array[InputPartition]  = Array(PackedPartition)
  override def createReaderFactory(): PartitionReaderFactory = {
    PackedFactory.records = records
    new PackedFactory(path, columns)
  }
  override def columnarSupportMode(): Scan.ColumnarSupportMode =
    if (path == "columnar") Scan.ColumnarSupportMode.SUPPORTED else Scan.ColumnarSupportMode.UNSUPPORTED
}

private case object PackedPartition extends InputPartition

private object PackedFactory {

  /** Of the query that runs: tasks are in the same JVM. */
  @volatile var records: Array[KinesisRecord] = Array.empty
}

private final class PackedFactory(path: String, columns: StructType) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = path == "columnar"

  private def all = Iterator.fill(RowQueries.TIMES)(PackedFactory.records)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    if (path == "rows") new PackedRows(all.flatMap(_.iterator), columns) else new PackedRow(all, columns)

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new PartitionReader[ColumnarBatch] {
      private val batches              = all.flatMap(RecordVector.batches(_, columns))
      private var batch: ColumnarBatch = _

      override def next(): Boolean = {
        val more = batches.hasNext
        if (more) batch = batches.next()
        more
      }

      override def get(): ColumnarBatch = batch
      override def close(): Unit        = ()
    }
}

/** As the connector's own reader takes records. */
private final class PackedRows(records: Iterator[KinesisRecord], columns: StructType)
    extends PartitionReader[InternalRow] {
  private val ofRange          = new RecordRows(RowPath.range, columns, None)
  private var rows             = Iterator[InternalRow]()
  private var row: InternalRow = _

  override def next(): Boolean = {
    while (!rows.hasNext && nextRecord()) ()
    val more = rows.hasNext
    if (more) row = rows.next()
    more
  }

  private def nextRecord() = {
    val more = records.hasNext
    if (more) rows = ofRange.of(records.next())
    more
  }

  override def get(): InternalRow = row
  override def close(): Unit      = ()
}

/** With nothing between the arrays of records and their row. */
private final class PackedRow(answers: Iterator[Array[KinesisRecord]], columns: StructType)
    extends PartitionReader[InternalRow] {
  private val row                          = new RecordRow(RowPath.shard, columns)
  private var answer: Array[KinesisRecord] = Array.empty
  private var at                           = 0

  override def next(): Boolean = {
    while (at == answer.length && answers.hasNext) {
      answer = answers.next()
      at = 0
    }
    val more = at < answer.length
    if (more) {
      row.show(answer(at)): Unit
      at += 1
    }
    more
  }

  override def get(): InternalRow = row
  override def close(): Unit      = ()
}
