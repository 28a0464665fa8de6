package io.github.kinesisspark.read

import java.util
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.kinesisspark.aws.DatasetName
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.read.batch.BatchSnapshot
import io.github.kinesisspark.read.coordinator.DriverRuntime
import io.github.kinesisspark.read.row.SourceSchema

/** The streams of one `load()`, or of a table in a catalog, that can be read in micro-batches, and as a batch.
  *
  * @param options a failure if those of a catalog's table are wrong
  * @param asGiven the options as they were given
  */
final class KinesisTable(options: Try[SourceOptions], asGiven: util.Map[String, String])
    extends Table
    with SupportsRead {

  /** By what is read. Taken once, so that every action on a DataFrame reads the same. */
  private val snapshots = new ConcurrentHashMap[SourceOptions, BatchSnapshot]

  private val streams = options.toOption.toSeq.flatMap(_.streams)

  override def name(): String = s"kinesis ${streams.map(_.stream.name).mkString(", ")}"

  override def schema(): StructType = SourceSchema.schema

  override def properties(): util.Map[String, String] = DatasetName.properties(streams match {
    case Seq(one) => Some(one.stream -> one.client)
    case _        => None
  })

  override def capabilities(): util.Set[TableCapability] =
    Set(TableCapability.MICRO_BATCH_READ, TableCapability.BATCH_READ).asJava

  /** @param more what a reader of a catalog's table sets differently; of a `load()` the same options again */
  override def newScanBuilder(more: CaseInsensitiveStringMap): ScanBuilder = {
    val asked =
      if (more.isEmpty) options.get
      else SourceOptions.parse(asGiven.asScala.toMap, more.asCaseSensitiveMap.asScala.toMap)
    new KinesisScanBuilder(
      name(),
      asked,
      () => snapshots.computeIfAbsent(asked, BatchSnapshot.take(_, DriverRuntime.ofJvm.clients))
    )
  }
}
