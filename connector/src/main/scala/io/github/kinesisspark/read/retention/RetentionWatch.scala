package io.github.kinesisspark.read.retention

import org.slf4j.LoggerFactory

import io.github.kinesisspark.read.catalog.ShardCatalog
import io.github.kinesisspark.read.plan.{PlanningResult, RetentionLag}

/** Warns where a running query falls behind the retention of its streams. Has no part in planning. */
final class RetentionWatch(catalog: ShardCatalog) {
  private val log = LoggerFactory.getLogger(classOf[RetentionWatch])
  private var lag = RetentionLag()

  /** Warns of what may have gone since the planning before, unread. A suspicion only: no call shows whether there were records. Reported once, until the
    * shard has caught up.
    */
  def observe(result: PlanningResult): Unit = {
    val reported = result.statuses.iterator
      .flatMap(_.valuesIterator)
      .filterNot(_.isComplete)
      .map(status => status.shard -> status.completeTo(status.all, catalog.ago(status.shard.stream, _)))
      .toMap
    // A shard that has no reader for a moment, as after the loss of an executor, keeps what it had reached.
    val unread =
      result.statuses.iterator.flatMap(known => result.open.iterator.filterNot(known.contains)).map(_ -> None)
    val (now, gaps) =
      lag.after(reported ++ unread, shard => catalog.now(shard.stream) - catalog.retention(shard.stream).toMillis)
    lag = now
    gaps.foreach { case (shard, gap) =>
      log.warn(
        s"$shard: the query is further behind than the stream's retention of ${catalog.retention(shard.stream).toHours} hours. " +
          s"Records that arrived between ${gap.from} and ${gap.until} and were not read, if there were any, are lost. Raise the retention, " +
          "or give the query more to work with."
      )
    }
  }
}
