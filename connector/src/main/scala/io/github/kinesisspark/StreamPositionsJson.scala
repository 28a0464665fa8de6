package io.github.kinesisspark

import java.time.Instant
import java.util

import org.apache.spark.sql.SparkSession

import io.github.kinesisspark.position.{KinesisOffset, OffsetJson}

import scala.jdk.CollectionConverters._

/** [[StreamPositions]] for callers in another language: options as a Java map, positions as the JSON of an offset. */
object StreamPositionsJson {

  def latest(options: util.Map[String, String]): String = json(StreamPositions.latest(options.asScala.toMap))

  def at(options: util.Map[String, String], epochMillis: Long): String =
    json(StreamPositions.at(options.asScala.toMap, Instant.ofEpochMilli(epochMillis)))

  /** @param batch  below 0 for the last one that is committed
    * @param source empty for the only one
    */
  def afterBatch(spark: SparkSession, checkpoint: String, batch: Long, source: String): String =
    json(StreamPositions.afterBatch(spark, checkpoint, Option.when(batch >= 0)(batch), named(source)))

  /** @param source empty for the only one */
  def beforeBatch(spark: SparkSession, checkpoint: String, batch: Long, source: String): String =
    json(StreamPositions.beforeBatch(spark, checkpoint, batch, named(source)))

  /** @param start as a query's progress has it; empty for none */
  def before(start: String, end: String): String = json(
    StreamPositions.before(if (start.isEmpty) KinesisOffset.initial else OffsetJson.read(start), OffsetJson.read(end))
  )

  def save(spark: SparkSession, positions: String, path: String): String = {
    new PositionFile(path, SessionHadoop.of(spark)).write(positions)
    positions
  }

  /** @return empty where there is no such file */
  def load(spark: SparkSession, path: String): String =
    new PositionFile(path, SessionHadoop.of(spark)).read().getOrElse("")

  private def named(source: String): Option[String] = Option.when(source.nonEmpty)(source)

  private def json(offset: KinesisOffset): String = OffsetJson.write(offset)
}
