package io.github.kinesisspark.read

import java.util

import scala.jdk.CollectionConverters._

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.shard.{RecordBuffer, ShardTip}

/** What `StreamingQueryProgress.sources[].metrics` tells, as of the last planning.
  *
  * @param lagMillis how far the planned end of each shard is behind its newest record, by the service's clock
  * @param fleet     what all executors hold and have read again
  */
final case class SourceMetrics(
    lagMillis: Vector[Long],
    records: Long,
    bytes: Long,
    shards: Int,
    fleet: ReaderFleet.Totals
) {

  def toJava: util.Map[String, String] = Map(
    "maxMillisBehindLatest" -> lagMillis.maxOption.getOrElse(0L).toString,
    "avgMillisBehindLatest" -> (if (lagMillis.isEmpty) 0L else lagMillis.sum / lagMillis.size).toString,
    "minMillisBehindLatest" -> lagMillis.minOption.getOrElse(0L).toString,
    "records"               -> records.toString,
    "bytes"                 -> bytes.toString,
    "shardsOpen"            -> shards.toString,
    "bufferedBytes"         -> fleet.bufferedBytes.toString,
    "rereadBytes"           -> fleet.rereadBytes.toString,
    "rereadRecords"         -> fleet.rereadRecords.toString
  ).asJava
}

object SourceMetrics {
  val none: SourceMetrics = SourceMetrics(Vector.empty, 0, 0, 0, ReaderFleet.Totals(0, 0, 0))

  def of(
      tips: Map[ShardKey, ShardTip],
      cuts: Map[ShardKey, RecordBuffer.Cut],
      fleet: ReaderFleet.Totals
  ): SourceMetrics = {
    val lags = tips.values.iterator.flatMap { tip =>
      for {
        behind <- tip.millisBehind
        // What is buffered and not admitted comes on top of what the reader itself is behind.
        held =
          for {
            newest   <- tip.newestArrival
            admitted <- cuts.get(tip.shard).flatMap(_.newestArrival)
          } yield math.max(0L, newest - admitted)
      } yield behind + held.getOrElse(0L)
    }.toVector
    SourceMetrics(lags, cuts.values.map(_.records).sum, cuts.values.map(_.bytes).sum, tips.size, fleet)
  }
}
