package io.github.kinesisspark.read.batch

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

import io.github.kinesisspark.aws.{FailureReason, KinesisClients, KinesisException}
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.{ShardPosition, ShardRange}
import io.github.kinesisspark.read.catalog.{ConsumerLifecycle, Parallel, ProbeClients, ShardEnds, ShardProbes}
import io.github.kinesisspark.read.plan.{RangeGrouping, RangeSplitting}
import io.github.kinesisspark.read.reader.{ReaderConfig, ReaderMemory, ResolvedPublisher}
import io.github.kinesisspark.read.row.RowFilter
import io.github.kinesisspark.read.task.{KinesisInputPartition, KinesisPartitionReaderFactory}
import io.github.kinesisspark.position.ShardPosition.AtTimestamp
import io.github.kinesisspark.read.batch.BatchSnapshot.Slice

/** One scan of a snapshot: what the filter leaves of it, shared among tasks. Every task reads its ranges from Kinesis. */
final class KinesisBatch(
    options: SourceOptions,
    columns: StructType,
    filter: RowFilter,
    snapshot: BatchSnapshot,
    clients: KinesisClients
) extends Batch {
  import clients.runtime

  private val OutOfOrder = ShardProbes.OutOfOrder.toMillis

  private lazy val slices: Vector[Slice] = {
    val wanted = snapshot.slices.filter(s => filter.lets(s.range.shard.stream.name, s.range.shard.shardId))
    if (filter.from.isEmpty && filter.until.isEmpty) wanted
    else ProbeClients.using(clients, snapshot.streams)(ends => Parallel.map(wanted)(narrowed(_, ends)).flatten)
  }

  /** Of data and keys, at most; but user records of one aggregated record may share a key that each row has by itself. */
  def mostBytes: Long = slices.iterator.map(_.most(snapshot.now)).sum

  /** Of all slices, if known: how many rows an aggregated record makes is known only to the task that reads it. */
  def rows: Option[Long] =
    Option.when(!options.deaggregate && slices.forall(_.size.nonEmpty))(slices.flatMap(_.size).map(_.records).sum)

  override def planInputPartitions(): Array[InputPartition] = {
    val all    = if (slices.size < options.minPartitions && !isFanOut) cut(slices) else slices
    val keys   = Option.when(options.deaggregate)(snapshot.hashKeys)
    val weight = all.map(s => s.range -> s.most(snapshot.now)).toMap
    RangeGrouping
      .group(all.map(_.range), _ => None, weight, most = _ => Int.MaxValue, options.minPartitions)
      .map(KinesisInputPartition(_, keys): InputPartition)
      .toArray
  }

  override def createReaderFactory(): PartitionReaderFactory = KinesisPartitionReaderFactory(
    ReaderConfig(
      sourceId = runtime.ids.uuid(),
      streams = snapshot.streams,
      bufferBytes = ReaderMemory.of(options, SparkSession.active.sparkContext),
      polling = options.polling,
      failOnDataLoss = options.failOnDataLoss,
      batch = Some(if (slices.isEmpty) ResolvedPublisher.Polling else ConsumerLifecycle.ofBatch(options, clients))
    ),
    columns
  )

  /** A consumer has one subscription to a shard, so that is one task's. */
  private def isFanOut = options.fanOut.isDefined

  /** Without the beginning and the end of which the filter lets nothing pass. Times of arrival are approximate and need not grow
    * from record to record, so what is near the filter's times is left to Spark.
    *
    * The snapshot may be old, and the slice's first records past retention by now. Then its beginning stays, so that its task finds out what is lost, unless
    * all that is lost arrived before the filter's time.
    */
  private def narrowed(slice: Slice, ends: ShardEnds): Option[Slice] = unlessGone(Option(slice)) {
    val shard = slice.range.shard
    val from  = filter.from.map(_ - OutOfOrder).filter(t => slice.oldest.forall(_ < t))
    val until = filter.until.map(_ + OutOfOrder).filter(t => t < snapshot.now && slice.newest.forall(_ > t))
    if (from.exists(_ > snapshot.now)) None
    else {
      val first = from.filter(isKept(slice, ends, _)).map(t => ends.first(shard, AtTimestamp(t)))
      val past  = until.flatMap(t => ends.first(shard, AtTimestamp(t)))
      if (first.contains(None)) None
      else {
        val begin = first.flatten.map(r => ShardPosition.AtSequenceNumber(r.number))
        val end   = past.map(r => ShardPosition.AtSequenceNumber(r.number))
        val range = ShardRange(
          shard,
          begin.filter(slice.range.start.isBefore(_)).getOrElse(slice.range.start),
          end.filter(_.isBefore(slice.range.end)).getOrElse(slice.range.end)
        )
        Option.when(range.start.isBefore(range.end))(
          if (range == slice.range) slice
          else
            Slice(range, (slice.oldest ++ begin.flatMap(_ => from)).maxOption, (slice.newest ++ until).minOption, None)
        )
      }
    }
  }

  /** Whether all of it is still there that arrived since a time. */
  private def isKept(slice: Slice, ends: ShardEnds, since: Long) = {
    val first = ends.first(slice.range.shard, slice.range.start)
    first.exists(_.arrivalMillis < since) || (slice.range.start match {
      case ShardPosition.AtSequenceNumber(number) => first.exists(_.number == number)
      case _                                      => slice.oldest.forall(time => first.exists(_.arrivalMillis == time))
    })
  }

  /** Tasks find out what it means that a shard is past retention. */
  private def unlessGone[A](whole: A)(look: => A): A =
    try look
    catch { case e: KinesisException if e.reason == FailureReason.NotFound => whole }

  /** Into pieces of about the same time each: how the records are spread over the time isn't known. */
  private def cut(slices: Vector[Slice]): Vector[Slice] = ProbeClients.using(clients, snapshot.streams) { ends =>
    val byRange = slices.map(s => s.range -> s).toMap
    val wanted  =
      RangeSplitting.parts(slices.map(_.range), r => Some(byRange(r).most(snapshot.now)), options.minPartitions)
    Parallel
      .map(wanted) { case (range, pieces) => unlessGone(Vector(byRange(range)))(cut(byRange(range), pieces, ends)) }
      .flatten
  }

  private def cut(slice: Slice, pieces: Int, ends: ShardEnds): Vector[Slice] = slice.oldest match {
    case Some(oldest) if pieces > 1 =>
      val newest = slice.newest.getOrElse(snapshot.now)
      val times  = (1 until pieces).map(i => oldest + (newest - oldest) * i / pieces).distinct
      val inside = times
        .flatMap(t =>
          ends.first(slice.range.shard, AtTimestamp(t)).map(r => ShardPosition.AtSequenceNumber(r.number) -> t)
        )
        .distinctBy(_._1)
        .filter { case (at, _) =>
          slice.range.start.isBefore(at) && at.isBefore(slice.range.end)
        }
      val bounds = Some(oldest) +: inside.map(i => Some(i._2)) :+ slice.newest
      RangeSplitting.cut(slice.range, inside.map(_._1)).zip(bounds.zip(bounds.tail)).map { case (range, (from, to)) =>
        Slice(range, from, to, None)
      }
    case _ => Vector(slice)
  }
}
