package io.github.kinesisspark

import java.util

import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import scala.jdk.CollectionConverters._

import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.read.{KinesisTable, Publishing, SourceSchema}

/** The front door: `format("kinesis")`. Options are checked here, at `load()`, before anything runs. */
final class KinesisTableProvider extends TableProvider with DataSourceRegister {

  override def shortName(): String = "kinesis"

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = SourceSchema.schema

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    val parsed = SourceOptions.parse(properties.asScala.toMap)
    Publishing.begin(parsed)
    new KinesisTable(parsed)
  }
}
