package io.github.kinesisspark.it.source

import java.util.concurrent.ConcurrentSkipListMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame

/** One record as a batch delivered it. */
final case class Delivered(stream: String, shardId: String, sequenceNumber: BigInt, text: String)

/** A transactional sink in memory: what each batch held. A batch that comes again replaces nothing: it must hold the same
  * rows, or this throws into the query.
  */
final class BatchLog {
  private val batches            = new ConcurrentSkipListMap[Long, Vector[Delivered]]
  @volatile private var replayed = Set.empty[Long]

  def add(batch: DataFrame, id: Long): Unit = add(BatchLog.rowsOf(batch), id)

  def add(rows: Vector[Delivered], id: Long): Unit = Option(batches.putIfAbsent(id, rows)).foreach { before =>
    replayed += id
    if (BatchLog.canonical(before) != BatchLog.canonical(rows))
      throw new AssertionError(s"batch $id came again with other rows: first ${before.size}, then ${rows.size}")
  }

  /** By batch, in the order of their ids. */
  def all: Vector[(Long, Vector[Delivered])] = batches.asScala.toVector
  def rows: Vector[Delivered]                = all.flatMap(_._2)
  def texts: Vector[String]                  = rows.map(_.text)
  def replays: Set[Long]                     = replayed
}

object BatchLog {
  def rowsOf(batch: DataFrame): Vector[Delivered] = batch
    .selectExpr("streamName", "shardId", "sequenceNumber", "cast(data as string)")
    .collect()
    .iterator
    .map(r => Delivered(r.getString(0), r.getString(1), BigInt(r.getString(2)), r.getString(3)))
    .toVector

  /** Order within a shard counts, order between shards does not. */
  def canonical(rows: Vector[Delivered]): Map[(String, String), Vector[Delivered]] =
    rows.groupBy(row => (row.stream, row.shardId))
}
