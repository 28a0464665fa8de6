package io.github.kinesisspark

import java.util

import org.apache.spark.sql.connector.catalog.{Table, TableCatalog, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import scala.jdk.CollectionConverters._
import scala.util.Try

import io.github.kinesisspark.config.{SinkOptions, SourceOptions}
import io.github.kinesisspark.jar.BuiltFor
import io.github.kinesisspark.read.KinesisTable
import io.github.kinesisspark.read.catalog.ConsumerLifecycle
import io.github.kinesisspark.read.coordinator.DriverRuntime
import io.github.kinesisspark.read.row.SourceSchema
import io.github.kinesisspark.write.KinesisSink

/** The front door: `format("kinesis")`. Options are checked here, at `load()`, `CREATE TABLE`, `start()` or `save()`, before
  * anything runs.
  */
class KinesisTableProvider extends TableProvider with DataSourceRegister {

  override def shortName(): String = "kinesis"

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    BuiltFor.check()
    SourceOptions.parse(options.asCaseSensitiveMap.asScala.toMap): Unit
    SourceSchema.schema
  }

  /** So that a write names the columns of its rows. */
  override def supportsExternalMetadata(): Boolean = true

  /** Spark doesn't say what a table is for, but a reader has asked for the schema before and passes that very object;
    * a writer brings a schema of its own. A catalog, too, passes a schema of its own: its tables are for reading, which
    * the names of its properties show. Spark refuses to write into them, and to create them with other columns. It also loads
    * them to list, alter or drop them, so wrong options fail when they are read, and no consumer is registered before.
    */
  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    BuiltFor.check()
    val isCatalogs = properties.containsKey(TableCatalog.PROP_PROVIDER)
    if (isCatalogs || (schema eq SourceSchema.schema)) {
      val parsed = Try(SourceOptions.parse(properties.asScala.toMap))
      if (!isCatalogs) ConsumerLifecycle.begin(parsed.get, DriverRuntime.ofJvm.clients)
      new KinesisTable(parsed, properties)
    } else new KinesisSink(schema, SinkOptions.parse(properties.asScala.toMap))
  }
}

/** The same as `format("kinesis_spark")`. Other JARs bring sources named `kinesis`, and Spark prefers one whose class is below
  * `org.apache.spark`; this name is ours alone.
  */
final class KinesisSparkTableProvider extends KinesisTableProvider {
  override def shortName(): String = "kinesis_spark"
}
