package io.github.kinesisspark.read.stream

import scala.collection.mutable

import io.github.kinesisspark.position.{ShardKey, StreamArn}
import io.github.kinesisspark.read.plan.{CutPoint, ExecutorId}
import io.github.kinesisspark.read.reader.{ReaderTotals, ShardCounts}

/** The metric that names streams, executors and shards, as JSON, because progress has texts alone. KinesisMonitor of the Python package shows
  * it as tables.
  */
private[stream] object SourceDetails {
  val Name = "details"

  /** Spark's event logs keep all progress, so only so many shards are named: first those that have never reported, then those that are furthest behind. */
  private val MostShards = 50

  def json(metrics: SourceMetrics): String = {
    val streams = metrics.shards.iterator.map(_.stream).toSet.toVector.sortBy((stream: StreamArn) => stream.text)
    val index   = streams.zipWithIndex.toMap
    val sums    = streams.map(_ => new Sums)
    val homes   = mutable.HashMap.empty[ExecutorId, Int].withDefaultValue(0)
    val worst   = mutable.PriorityQueue.empty[Shown](FurthestBehind)
    metrics.shards.foreach { shard =>
      val lag     = metrics.lags.get(shard).map(_.millisAt(metrics.atNanos))
      def unknown = metrics.unknown.get(shard).map(_.millisAt(metrics.atNanos)).filter(_ > 0)
      sums(index(shard.stream)).add(lag.orElse(unknown), metrics.cuts.get(shard), metrics.readers.counts(shard))
      metrics.readers.homes.get(shard).foreach(homes(_) += 1)
      val shown = Shown(index(shard.stream), shard, lag)
      // Its head is the one that is shown last.
      if (worst.size < MostShards) worst += shown
      else if (FurthestBehind.lt(shown, worst.head)) {
        worst.dequeue(): Unit
        worst += shown
      }
    }
    ujson.write(
      ujson.Obj(
        "triggerMillis" -> number(metrics.trigger.toMillis),
        "streams"       -> ujson.Arr.from(streams.zip(sums).map { case (stream, sum) => streamOf(stream, sum) }),
        "executors"     -> ujson.Arr.from(metrics.readers.byExecutor.sortBy(_._1.id).map { case (executor, totals) =>
          executorOf(executor.id, executor.host, homes(executor), totals)
        }),
        "shards" -> shardsOf(metrics, worst.toVector.sorted(FurthestBehind))
      )
    )
  }

  private final case class Shown(stream: Int, shard: ShardKey, lag: Option[Long])

  private val FurthestBehind: Ordering[Shown] =
    Ordering.by(s => (s.lag.isDefined, -s.lag.getOrElse(0L), s.stream, s.shard.shardId))

  /** By column, as progress is asked for often and names each field once so. Python gets it as one text, which py4j waits 40 ms for beyond 8 KiB:
    * 16 shards with their offsets stay below.
    */
  private def shardsOf(metrics: SourceMetrics, shown: Vector[Shown]) = {
    def column[A](of: Shown => A)(json: A => ujson.Value): ujson.Value = ujson.Arr.from(shown.map(s => json(of(s))))
    def counts(s: Shown)                                               = metrics.readers.counts(s.shard)
    def cut(s: Shown)                                                  = metrics.cuts.get(s.shard)
    ujson.Obj.from(
      Seq(
        "stream"             -> column(_.stream)(ujson.Num(_)),
        "shard"              -> column(_.shard.shardId)(ujson.Str(_)),
        "executor"           -> column(s => metrics.readers.homes.get(s.shard))(_.fold[ujson.Value](ujson.Null)(_.id)),
        "millisBehindLatest" -> column(_.lag)(_.fold[ujson.Value](ujson.Null)(number)),
        "bytesPerRead"       -> column(s => metrics.reads(s.shard).bytesPerRead)(number),
        "numberOfAggregatedRecords" -> column(s => metrics.reads(s.shard).recordsPerRead)(number),
        "records"                   -> column(cut(_).fold(0L)(_.records))(number),
        "bytes"                     -> column(cut(_).fold(0L)(_.bytes))(number),
        "throttled"                 -> column(counts(_).throttled)(number),
        "reread"                    -> column(counts(_).rereadRecords)(number)
      ) ++ Option.when(shown.exists(counts(_).isSubscribed.nonEmpty))(
        "subscribed" -> column(counts(_).isSubscribed)(_.fold[ujson.Value](ujson.Null)(ujson.Bool(_)))
      )
    )
  }

  /** Of a stream's shards. */
  private final class Sums {
    var shards, records, bytes, throttled, reread = 0L
    var lag                                       = Option.empty[Long]
    var subscribed                                = Option.empty[Long]

    def add(behind: Option[Long], cut: Option[CutPoint], counts: ShardCounts): Unit = {
      shards += 1
      if (behind.exists(ms => lag.forall(_ < ms))) lag = behind
      records += cut.fold(0L)(_.records)
      bytes += cut.fold(0L)(_.bytes)
      throttled += counts.throttled
      reread += counts.rereadRecords
      counts.isSubscribed.foreach(live => subscribed = Some(subscribed.getOrElse(0L) + (if (live) 1 else 0)))
    }
  }

  private def streamOf(stream: StreamArn, sums: Sums) = ujson.Obj.from(
    Seq[(String, ujson.Value)](
      "stream"             -> stream.text,
      "shards"             -> number(sums.shards),
      "millisBehindLatest" -> sums.lag.fold[ujson.Value](ujson.Null)(number),
      "records"            -> number(sums.records),
      "bytes"              -> number(sums.bytes),
      "throttled"          -> number(sums.throttled),
      "reread"             -> number(sums.reread)
    ) ++ sums.subscribed.map(live => "subscribed" -> number(live))
  )

  private def executorOf(id: String, host: String, shards: Int, totals: ReaderTotals) = ujson.Obj.from(
    Seq[(String, ujson.Value)](
      "executor"  -> id,
      "host"      -> host,
      "shards"    -> number(shards.toLong),
      "buffer"    -> number(totals.bufferedBytes),
      "throttled" -> number(totals.polling.throttled + totals.subscriptions.fold(0L)(_.refused)),
      "reread"    -> number(totals.rereadRecords)
    ) ++ totals.subscriptions.map(s => "subscribed" -> number(s.live.toLong))
  )

  private def number(n: Long): ujson.Value = ujson.Num(n.toDouble)
}
