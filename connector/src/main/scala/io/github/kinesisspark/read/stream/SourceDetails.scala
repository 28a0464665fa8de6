package io.github.kinesisspark.read.stream

import io.github.kinesisspark.position.{ShardKey, StreamArn}
import io.github.kinesisspark.read.reader.{ReaderTotals, ShardCounts}

/** The metric that names streams, executors and shards, as JSON, because progress has texts alone. KinesisMonitor of the Python package shows
  * it as tables.
  */
private[stream] object SourceDetails {
  val Name = "details"

  /** Progress is kept in event logs; so it names those shards that are furthest behind. */
  private val MostShards = 50

  def json(metrics: SourceMetrics): String = {
    val streams = metrics.shards.map(_.stream).distinct.sortBy(_.text)
    val index   = streams.zipWithIndex.toMap
    val lags    = metrics.lags.map { case (shard, lag) => shard -> lag.millisAt(metrics.atNanos) }
    val byHome  = metrics.shards.groupBy(metrics.readers.homes.get)
    val worst   = metrics.shards.sortBy(shard => (-lags.getOrElse(shard, 0L), index(shard.stream), shard.shardId))
    ujson.write(
      ujson.Obj(
        "streams" -> ujson.Arr.from(metrics.shards.groupBy(_.stream).toVector.sortBy(s => index(s._1)).map {
          case (stream, shards) => streamOf(metrics, lags, stream, shards)
        }),
        "executors" -> ujson.Arr.from(metrics.readers.byExecutor.sortBy(_._1.id).map { case (executor, totals) =>
          executorOf(executor.id, executor.host, byHome.getOrElse(Some(executor), Vector.empty).size, totals)
        }),
        "shards" -> ujson.Arr.from(worst.take(MostShards).map { shard =>
          val home = metrics.readers.homes.get(shard).fold[ujson.Value](ujson.Null)(_.id)
          val cut  = metrics.cuts.get(shard)
          ujson.Obj.from(
            Seq[(String, ujson.Value)](
              "stream"   -> ujson.Num(index(shard.stream)),
              "shard"    -> shard.shardId,
              "executor" -> home,
              "lag"      -> lags.get(shard).fold[ujson.Value](ujson.Null)(number),
              "records"  -> number(cut.fold(0L)(_.records)),
              "bytes"    -> number(cut.fold(0L)(_.bytes))
            ) ++ countsOf(metrics.readers.counts(shard))
          )
        })
      )
    )
  }

  private def streamOf(
      metrics: SourceMetrics,
      lags: Map[ShardKey, Long],
      stream: StreamArn,
      shards: Vector[ShardKey]
  ) = {
    val counts = shards.map(metrics.readers.counts)
    val cuts   = shards.flatMap(metrics.cuts.get)
    val live   = counts.flatMap(_.isSubscribed)
    ujson.Obj.from(
      Seq[(String, ujson.Value)](
        "stream"    -> stream.text,
        "shards"    -> number(shards.size.toLong),
        "lag"       -> shards.flatMap(lags.get).maxOption.fold[ujson.Value](ujson.Null)(number),
        "records"   -> number(cuts.map(_.records).sum),
        "bytes"     -> number(cuts.map(_.bytes).sum),
        "throttled" -> number(counts.map(_.throttled).sum),
        "reread"    -> number(counts.map(_.rereadRecords).sum)
      ) ++ (if (live.isEmpty) None else Some("subscribed" -> number(live.count(identity).toLong)))
    )
  }

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

  private def countsOf(counts: ShardCounts) = Seq[(String, ujson.Value)](
    "throttled" -> number(counts.throttled),
    "reread"    -> number(counts.rereadRecords)
  ) ++ counts.isSubscribed.map(live => "subscribed" -> (ujson.Bool(live): ujson.Value))

  private def number(n: Long): ujson.Value = ujson.Num(n.toDouble)
}
