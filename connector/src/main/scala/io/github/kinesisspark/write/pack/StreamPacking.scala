package io.github.kinesisspark.write.pack

import scala.collection.immutable.Queue

import io.github.kinesisspark.aggregation.{Aggregator, KinesisPut}
import io.github.kinesisspark.position.Shard
import io.github.kinesisspark.write.pack.StreamPacking._
import io.github.kinesisspark.write.send.Entry

/** The rows of a task for one stream, packed into aggregated records. Pure: every step gives the next state, and the Kinesis records to
  * send now. A row leaves by being taken in a record that readers of its shard get it from, or as one that can never be written, and
  * no other way.
  *
  * {{{
  * add, flush -> (the records are sent) -> taken, rejected -> ... until no rows are held
  * }}}
  *
  * | answer to a record | what follows |
  * |---|---|
  * | taken by a shard that is not listed | the shards have to be listed again (`relisted`), then as below |
  * | taken by a shard with the keys of all its rows | its rows are written |
  * | taken by another, after a reshard | its rows are packed anew: see [[KinesisPut.toPutAgain]] |
  * | taken by a shard that the listing can't explain | the same, and no rows of this stream are packed any more |
  *
  * Rows are packed anew when everything that was sent by the old plan has been answered, and before all later ones. So
  * order outlasts a reshard.
  *
  * Where order is kept, one record of each line is under way at a time. A line is what goes to one shard, so that the rows of a
  * partition key are in one line; where no shard is known, it is a hash key.
  *
  * @param shards    as listed last, closed ones too
  * @param trusted   whether answers agree with what is listed
  * @param lines     those with a record under way, each with those that must come after; empty where no order is kept
  * @param inLines   records that must come after others
  * @param underWay  what was sent and has no answer
  * @param anew      what waits to be planned anew, if anything is
  * @param heldRows  not written yet
  * @param heldBytes theirs
  * @param rows      written, each counted once
  */
private[write] final case class StreamPacking(
    limits: Aggregator.Limits,
    ordered: Boolean,
    shards: Vector[Shard],
    aggregator: Aggregator[Entry],
    trusted: Boolean = true,
    lines: Map[String, Queue[KinesisPut[Entry]]] = Map.empty,
    inLines: Int = 0,
    underWay: Map[Entry, KinesisPut[Entry]] = Map.empty,
    anew: Option[Anew] = None,
    heldRows: Int = 0,
    heldBytes: Long = 0,
    rows: Long = 0
) {

  /** Whether rows wait for an answer, so that what is under way must not wait for more. */
  def awaitsAnswers: Boolean = anew.nonEmpty || inLines > 0

  def add(row: Entry): Step = {
    val held = copy(heldRows = heldRows + 1, heldBytes = heldBytes + row.weight)
    anew match {
      case Some(waiting) => (held.copy(anew = Some(waiting.and(Vector(row)))), Vector.empty)
      case None          => held.packed(Vector(row))
    }
  }

  /** With the records that aren't full. */
  def flush: Step = {
    val (empty, puts) = aggregator.flush
    copy(aggregator = empty).released(puts)
  }

  /** Whether an answer that names this shard can be understood; if not, the shards are to be listed. */
  def knows(shardId: String): Boolean = !trusted || shards.exists(_.id == shardId)

  /** The stream has been resharded. */
  def relisted(listed: Vector[Shard]): StreamPacking = copy(shards = listed).stopped

  /** @param record as it was given to be sent */
  def taken(record: Entry, shardId: String): Step = {
    val put       = underWay(record)
    val taker     = shards.find(_.id == shardId).map(_.hashKeys)
    val explained = taker.exists(_.contains(record.hashKey))
    val again     = taker.fold(if (put.records.sizeIs > 1) put.records else Vector.empty)(put.toPutAgain)
    val known     = if (explained || !trusted) this else copy(trusted = false).stopped
    val next      = if (again.isEmpty) known.written(put.records) else known.stopped.first(again)
    next.answered(record, put)
  }

  /** The service will never take the record. */
  def rejected(record: Entry): Step = {
    val put = underWay(record)
    without(put.records).answered(record, put)
  }

  private def packed(some: Vector[Entry]): Step = {
    val (last, puts) = some.foldLeft((aggregator, Vector.empty[KinesisPut[Entry]])) { case ((packer, before), row) =>
      val (next, more) = packer.add(row)
      (next, before ++ more)
    }
    copy(aggregator = last).released(puts)
  }

  private def released(puts: Vector[KinesisPut[Entry]]): Step =
    puts.foldLeft((this, Vector.empty[Entry])) { case ((state, sent), put) =>
      val (next, record) = state.inLine(put)
      (next, sent ++ record)
    }

  private def inLine(put: KinesisPut[Entry]): (StreamPacking, Option[Entry]) = lines.get(lineOf(put)) match {
    case Some(others)    => (copy(lines = lines.updated(lineOf(put), others.enqueue(put)), inLines = inLines + 1), None)
    case None if ordered => copy(lines = lines.updated(lineOf(put), Queue.empty)).departed(put)
    case None            => departed(put)
  }

  private def departed(put: KinesisPut[Entry]): (StreamPacking, Option[Entry]) = {
    val record = recordOf(put)
    (copy(underWay = underWay.updated(record, put)), Some(record))
  }

  /** The record is under way no more: the next of its line may go, or all that was to wait for it. */
  private def answered(record: Entry, put: KinesisPut[Entry]): Step = {
    val back = copy(underWay = underWay - record)
    val line = lineOf(put)
    lines.get(line).flatMap(_.dequeueOption) match {
      case Some((next, rest)) =>
        val (state, sent) = back.copy(lines = lines.updated(line, rest), inLines = inLines - 1).departed(next)
        (state, sent.toVector)
      case None => back.copy(lines = lines - line).planned
    }
  }

  /** By the shards as they are listed now, once nothing is under way. */
  private def planned: Step = anew match {
    case Some(Anew(first, next)) if underWay.isEmpty =>
      val plan = Aggregator[Entry](if (trusted) shards else Nil, limits)
      copy(anew = None, aggregator = plan).packed(first ++ next)
    case _ => (this, Vector.empty)
  }

  /** What has not been sent waits for a new plan. */
  private def stopped: StreamPacking = {
    val (empty, growing) = aggregator.flush
    val waiting          = lines.valuesIterator.flatten.toVector ++ growing
    copy(
      aggregator = empty,
      lines = lines.map { case (line, _) => line -> Queue.empty[KinesisPut[Entry]] },
      inLines = 0,
      anew = Some(anew.getOrElse(Anew()).and(waiting.flatMap(_.records)))
    )
  }

  private def first(rows: Vector[Entry]) = copy(anew = anew.map(a => a.copy(first = a.first ++ rows)))

  private def written(some: Vector[Entry]) = without(some).copy(rows = rows + some.size)

  private def without(some: Vector[Entry]) =
    copy(heldRows = heldRows - some.size, heldBytes = heldBytes - some.iterator.map(_.weight).sum)
}

private[write] object StreamPacking {

  type Step = (StreamPacking, Vector[Entry])

  def of(limits: Aggregator.Limits, ordered: Boolean, shards: Vector[Shard]): StreamPacking =
    StreamPacking(limits, ordered, shards, Aggregator[Entry](shards, limits))

  /** What is to be planned anew, in order.
    *
    * @param first has been in a shard that readers don't get it from
    */
  final case class Anew(first: Vector[Entry] = Vector.empty, next: Vector[Entry] = Vector.empty) {
    def and(rows: Vector[Entry]): Anew = copy(next = next ++ rows)
  }

  private def lineOf(put: KinesisPut[Entry]) = put.shard.fold(put.records.head.hashKey.toString)(_.id)

  /** A row by itself is sent as it is. Otherwise errors name the first. */
  private def recordOf(put: KinesisPut[Entry]) = put.records match {
    case Vector(single) => single
    case several        =>
      new Entry(several.head.stream, put.partitionKey, put.explicitHashKey, put.data, several.head.row)
  }
}
