package io.github.kinesisspark.it.soak

import java.util.UUID

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Row => SparkRow}
import org.apache.spark.sql.streaming.StreamingQuery

/** A query that is stopped and started again on one checkpoint. What it tells of itself is added up over all its runs.
  *
  * @param open starts it
  */
final class SoakQuery(open: () => StreamingQuery) {
  private var query   = Option.empty[StreamingQuery]
  private var runs    = 0
  private var failed  = Vector.empty[String]
  private var counted = Map.empty[(UUID, String), Long]
  private var silence = 0L

  def start(): Unit = if (query.isEmpty) {
    query = Some(open())
    runs += 1
  }

  def stop(): Unit = {
    look()
    query.foreach(_.stop())
    query = None
  }

  /** Takes down what it tells. One that has failed is started again. */
  def look(): Unit = query.foreach { q =>
    for (progress <- Option(q.lastProgress); metrics <- progress.sources.headOption.map(_.metrics.asScala)) {
      SoakQuery.Counters.foreach(name =>
        metrics.get(name).foreach(n => counted = counted.updated((progress.runId, name), n.toLong))
      )
      metrics.get("millisSinceLastEvent").foreach(n => silence = silence.max(n.toLong))
    }
    q.exception.foreach { e =>
      failed :+= Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).toVector.last.getMessage
      query = None
      start()
    }
  }

  def restarts: Int                  = runs - 1
  def failures: Vector[String]       = failed
  def longestSilence: FiniteDuration = silence.millis

  /** By name. */
  def counters: Map[String, Long] =
    SoakQuery.Counters.map(name => name -> counted.collect { case ((_, `name`), n) => n }.sum).toMap
}

object SoakQuery {
  private val Counters = Vector("resubscriptions", "subscriptionsRefused", "subscriptionsFailed", "rereadRecords")

  def rowsOf(batch: DataFrame): Vector[Row] =
    batch.select("shardId", "sequenceNumber", "data").collect().iterator.map(rowOf).toVector

  private def rowOf(row: SparkRow) = Row(row.getString(0), row.getString(1), Entry.read(row.getAs[Array[Byte]](2)))
}
