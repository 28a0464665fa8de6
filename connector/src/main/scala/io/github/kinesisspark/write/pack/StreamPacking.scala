package io.github.kinesisspark.write.pack

import scala.collection.mutable

import io.github.kinesisspark.aggregation.{Aggregator, KinesisPut}
import io.github.kinesisspark.position.Shard
import io.github.kinesisspark.write.send.Entry

/** The rows of a task for one stream, packed into aggregated records. Mutable, for one owner; it makes no calls and takes no time: each step
  * returns the Kinesis records to send now. A row leaves by being taken in a record that readers of its shard get it from, or as one that
  * can never be written, and no other way.
  *
  * {{{
  * add, flush -> (the records are sent) -> taken, rejected -> ... until no rows are held
  * }}}
  *
  * | answer to a record | what follows |
  * |---|---|
  * | taken by a shard that is not listed | the shards have to be listed again (`relist`), then as below |
  * | taken by a shard with the keys of all its rows | its rows are written |
  * | taken by another, after a reshard | its rows are packed anew: see [[KinesisPut.toPutAgain]] |
  * | taken by a shard that the listing can't explain | the same, and no rows of this stream are packed any more |
  *
  * Rows are packed anew when everything that was sent by the old plan has been answered, in their order in the task, and before
  * all later ones. So order outlasts a reshard.
  *
  * Where order is kept, one record of each line is under way at a time. A line is all that goes to one shard. Where no shard
  * is known, it is all rows of one partition key, because rows with different hash keys may still come into one shard.
  *
  * @param maxBytes of a Kinesis record
  * @param ordered  whether the rows of a partition key keep their order
  * @param listed   the stream's shards, closed ones too
  */
private[write] final class StreamPacking(maxBytes: Int, ordered: Boolean, listed: Vector[Shard]) {
  import StreamPacking._

  private var shards     = byId(listed)
  private var aggregator = new Aggregator[Entry](listed, maxBytes)

  /** What was sent and has no answer. */
  private val sent = mutable.HashMap.empty[Entry, KinesisPut[Entry]]

  /** Those with a record under way, each with those that must come after; empty where no order is kept. */
  private val lines = mutable.HashMap.empty[String, mutable.Queue[KinesisPut[Entry]]]

  /** Records that must come after others, and the bytes of their data that no row shares. */
  private var inLines    = 0
  private var linesBytes = 0L

  /** What waits to be planned anew, if anything is. */
  private var anew = Option.empty[Vector[Entry]]

  private var isTrusted    = true
  private var heldCount    = 0
  private var heldWeight   = 0L
  private var writtenCount = 0L

  /** Whether answers agree with what is listed. */
  def trusted: Boolean = isTrusted

  /** Not written yet. */
  def heldRows: Int = heldCount

  /** Of those rows, and of records that were made of them and have not been sent. */
  def heldBytes: Long = heldWeight + aggregator.heldBytes + linesBytes

  /** Written, each counted once. */
  def rows: Long = writtenCount

  def underWay: Iterable[KinesisPut[Entry]] = sent.values

  /** Whether rows wait for an answer, so that what is under way must not wait for more. */
  def awaitsAnswers: Boolean = anew.nonEmpty || inLines > 0

  def add(row: Entry): Vector[Entry] = {
    heldCount += 1
    heldWeight += row.weight
    if (anew.isEmpty) packed(row)
    else {
      anew = anew.map(_ :+ row)
      Vector.empty
    }
  }

  /** With the records that aren't full. */
  def flush(): Vector[Entry] = released(aggregator.flush())

  /** Whether an answer that names this shard can be understood; if not, the shards are to be listed. */
  def knows(shardId: String): Boolean = !isTrusted || shards.contains(shardId)

  /** The stream has been resharded. */
  def relist(listed: Vector[Shard]): Unit = {
    shards = byId(listed)
    stop()
  }

  /** @param record as it was given to be sent */
  def taken(record: Entry, shardId: String): Vector[Entry] = {
    val put       = sent(record)
    val taker     = shards.get(shardId).map(_.hashKeys)
    val explained = taker.exists(_.contains(record.hashKey))
    val repeated  = taker.fold(if (put.records.sizeIs > 1) put.records else Vector.empty)(put.toPutAgain)
    if (!explained && isTrusted) {
      isTrusted = false
      stop()
    }
    if (repeated.isEmpty) {
      release(put.records)
      writtenCount += put.records.size
    } else {
      stop()
      anew = anew.map(_ ++ repeated)
    }
    answered(record, put)
  }

  /** The service will never take the record. */
  def rejected(record: Entry): Vector[Entry] = {
    val put = sent(record)
    release(put.records)
    answered(record, put)
  }

  private def packed(row: Entry): Vector[Entry] = released(aggregator.add(row))

  /** Most rows make no record full. */
  private def released(puts: Vector[KinesisPut[Entry]]): Vector[Entry] =
    if (puts.isEmpty) Vector.empty else puts.flatMap(inLine)

  private def inLine(put: KinesisPut[Entry]): Option[Entry] =
    if (!ordered) Some(departed(put))
    else
      lines.get(lineOf(put)) match {
        case Some(others) =>
          others += put
          inLines += 1
          linesBytes += copiedBytes(put)
          None
        case None =>
          lines(lineOf(put)) = mutable.Queue.empty
          Some(departed(put))
      }

  private def departed(put: KinesisPut[Entry]): Entry = {
    val record = recordOf(put)
    sent(record) = put
    record
  }

  /** The record is under way no more: the next of its line may go, or all that was to wait for it. */
  private def answered(record: Entry, put: KinesisPut[Entry]): Vector[Entry] = {
    sent -= record
    val line = lineOf(put)
    lines.get(line).filter(_.nonEmpty) match {
      case Some(others) =>
        val next = others.dequeue()
        inLines -= 1
        linesBytes -= copiedBytes(next)
        Vector(departed(next))
      case None =>
        lines -= line
        planned()
    }
  }

  /** By the shards as they are listed now, once nothing is under way. */
  private def planned(): Vector[Entry] = anew match {
    case Some(waiting) if sent.isEmpty =>
      anew = None
      aggregator = new Aggregator[Entry](if (isTrusted) shards.values else Nil, maxBytes)
      // They come from several lines, which may be one now.
      waiting.sortBy(_.row.row).flatMap(packed)
    case _ => Vector.empty
  }

  /** What has not been sent waits for a new plan. */
  private def stop(): Unit = {
    val waiting = lines.valuesIterator.flatten.toVector ++ aggregator.flush()
    lines.valuesIterator.foreach(_.clear())
    inLines = 0
    linesBytes = 0
    anew = Some(anew.getOrElse(Vector.empty) ++ waiting.flatMap(_.records))
  }

  private def release(rows: Vector[Entry]): Unit = {
    heldCount -= rows.size
    heldWeight -= Entry.weightOf(rows)
  }
}

private[write] object StreamPacking {

  private def byId(shards: Vector[Shard]) = shards.iterator.map(shard => shard.id -> shard).toMap

  /** What no shard is known for holds one row. No shard's ID has a colon. */
  private def lineOf(put: KinesisPut[Entry]) = put.shard.fold(s"key:${put.partitionKey}")(_.id)

  /** A record of one row has that row's data. */
  private def copiedBytes(put: KinesisPut[Entry]) = if (put.records.sizeIs > 1) put.data.length.toLong else 0L

  /** A row by itself is sent as it is. Otherwise errors name the first. */
  private def recordOf(put: KinesisPut[Entry]) = put.records match {
    case Vector(single) => single
    case several        =>
      new Entry(several.head.stream, put.partitionKey, put.explicitHashKey, put.data, several.head.row)
  }
}
