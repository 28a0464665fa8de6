package io.github.kinesisspark.it.soak

import scala.concurrent.duration._

/** One row of a batch. */
final case class Row(shardId: String, sequenceNumber: String, entry: Entry)

/** A transactional sink in memory: a batch is taken whole and once, by its id. One that comes again must hold the same rows. */
final class LedgerSink {
  private var entries = Ledger.empty
  private var last    = Option.empty[LedgerSink.Batch]
  private var replays = 0L

  def add(id: Long, rows: Vector[Row]): Unit = synchronized {
    val batch = LedgerSink.Batch(id, LedgerSink.digest(rows))
    last match {
      case Some(before) if id <= before.id =>
        replays += 1
        if (batch != before) entries = entries.note(Wrong.Changed(id))
      case _ =>
        entries = rows.foldLeft(entries)((ledger, row) => ledger.take(row.entry))
        last = Some(batch)
    }
    notifyAll()
  }

  def ledger: Ledger = synchronized(entries)

  def batches: Long  = synchronized(last.fold(0L)(_.id + 1))
  def replayed: Long = synchronized(replays)

  /** Whether so many records have come in time. */
  def await(records: Long, patience: FiniteDuration): Boolean = {
    val deadline = patience.fromNow
    synchronized {
      while (entries.records < records && deadline.hasTimeLeft()) wait(deadline.timeLeft.toMillis.max(1))
      entries.records >= records
    }
  }
}

object LedgerSink {

  /** A batch that was taken, in brief. Order within a shard counts, order between shards does not. */
  private final case class Batch(id: Long, shards: Map[String, (Int, Int)])

  private def digest(rows: Vector[Row]): Map[String, (Int, Int)] =
    rows.groupBy(_.shardId).map { case (shard, mine) => shard -> (mine.size -> mine.map(_.sequenceNumber).hashCode) }
}
