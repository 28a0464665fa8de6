package io.github.kinesisspark.read

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.kinesisspark.config.SourceOptions

/** The streams of one `load()` as a table that can be read in micro-batches. */
final class KinesisTable(options: SourceOptions) extends Table with SupportsRead {

  override def name(): String = s"kinesis ${options.streams.map(_.stream.name).mkString(", ")}"

  override def schema(): StructType = SourceSchema.schema

  override def capabilities(): util.Set[TableCapability] = Set(TableCapability.MICRO_BATCH_READ).asJava

  override def newScanBuilder(ignored: CaseInsensitiveStringMap): ScanBuilder = () => new KinesisScan(name(), options)
}

private final class KinesisScan(name: String, options: SourceOptions) extends Scan {

  override def readSchema(): StructType = SourceSchema.schema

  override def description(): String = name

  override def toMicroBatchStream(checkpointLocation: String): MicroBatchStream =
    new KinesisMicroBatchStream(options, SparkSession.active.sparkContext)
}
