package io.github.kinesisspark.write.send

import scala.collection.immutable.TreeMap

/** The shards of a stream that are written to at a pace of their own, and which of them a record is for.
  *
  * @param spans learnt from the first refusal on: while nothing is refused, no record's shard matters
  */
final case class ShardThrottles(
    byShard: Map[String, ShardThrottle] = Map.empty,
    spans: ShardSpans = ShardSpans.unknown
) {
  import ShardThrottles._

  /** When the first of them may send what waits for it. */
  lazy val due: Option[Long] =
    byShard.valuesIterator.filter(l => !l.underWay && l.waiting.nonEmpty).map(_.due).minOption

  def isDue(now: Long): Boolean = due.exists(_ <= now)

  /** The shard at whose throttle the record has to wait, if it is known to go there. */
  def of(entry: Entry): Option[String] =
    if (byShard.isEmpty) None else spans.shardOf(entry.hashKey).filter(byShard.contains)

  def updated(shard: String, change: ShardThrottle => ShardThrottle): ShardThrottles =
    byShard.get(shard).fold(this)(throttle => copy(byShard = byShard.updated(shard, change(throttle))))

  def parked(shard: String, record: PendingRecord): ShardThrottles = updated(shard, _.park(record))

  /** With what an answer shows of shards: the paces of those whose turn it was, new throttles for others that refused, and where hash keys
    * belong.
    *
    * @return and the records that are to be sent anew without a throttle, because theirs is no more
    */
  def answered(
      batch: Batch,
      answer: CallAnswer.PerRecord,
      now: Long,
      chance: Double
  ): (ShardThrottles, Vector[PendingRecord]) =
    if (byShard.isEmpty && answer.areTaken) (this, Vector.empty)
    else {
      val pairs   = batch.records.zip(answer.results)
      val refused = pairs.collect { case (record, r: RecordAnswer.Refused) => (record.refused(now), r) }
      val learnt  = pairs.foldLeft(spans) {
        case (known, (record, RecordAnswer.Taken(shard))) => known.addChildren(record.entry.hashKey, shard)
        case (known, (record, RecordAnswer.Refused(_, ShardOf(shard)))) =>
          known.addChildren(record.entry.hashKey, shard)
        case (known, _) => known
      }
      val turned = batch.throttles.foldLeft(byShard) { (throttles, shard) =>
        val own = pairs.filter(_._1.throttle.contains(shard))
        throttles.updatedWith(shard)(_.map(afterTurn(_, own, now, chance)))
      }
      val parked = refused.groupBy { case (record, answer) => shardOf(record, answer, learnt) }.foldLeft(turned) {
        case (throttles, (shard, several)) =>
          val throttle = throttles.getOrElse(shard, ShardThrottle(now).backOff(some = false, now, chance))
          throttles.updated(shard, throttle.parkFirst(several.map(_._1)))
      }
      val (over, left) = parked.partition { case (_, throttle) =>
        (throttle.isFree && !throttle.underWay) || throttle.isIdle(now)
      }
      (ShardThrottles(left, learnt), over.valuesIterator.flatMap(_.waiting).toVector)
    }

  def recalled(batch: Batch): ShardThrottles =
    batch.throttles.foldLeft(this)((throttles, shard) => throttles.updated(shard, _.recalled))
}

object ShardThrottles {

  /** For records whose shard is not known. */
  private val Unknown = "an unknown shard"

  private object ShardOf {
    private val Named = "shardId-[0-9]+".r.unanchored

    /** From "Rate exceeded for shard shardId-000000000000 in stream ... under account ...". */
    def unapply(message: String): Option[String] = Option(message).flatMap(Named.findFirstIn)
  }

  def shardOf(record: PendingRecord, answer: RecordAnswer.Refused, spans: ShardSpans): String =
    ShardOf.unapply(answer.message).orElse(spans.shardOf(record.entry.hashKey)).getOrElse(Unknown)

  private def afterTurn(
      throttle: ShardThrottle,
      own: Vector[(PendingRecord, RecordAnswer)],
      now: Long,
      chance: Double
  ): ShardThrottle = {
    val taken   = own.iterator.collect { case (r, _: RecordAnswer.Taken) => ShardThrottle.cost(r.entry) }.sum
    val refused =
      own.iterator.collect { case (r, a: RecordAnswer.Refused) if a.isThrottling => ShardThrottle.cost(r.entry) }.sum
    val isClean = !own.exists(_._2.isInstanceOf[RecordAnswer.Refused])
    val turned  = throttle.returned(taken, refused, isClean)
    if (!isClean) turned.backOff(taken > 0, now, chance) else turned
  }
}

/** The shard of a hash key, learned from answers: for each shard, the span between the least and the greatest hash key
  * that went there. Shards have no holes, so what lies between belongs to it as well. Newer answers win: where a span runs into
  * another's, that one's shard has been split or merged.
  *
  * It only serves the pace, so that listing shards (another call, another permission) isn't worth it.
  *
  * @param spans  by the least hash key of each
  * @param firsts that key, by shard
  */
final case class ShardSpans private (spans: TreeMap[BigInt, ShardSpans.Span], firsts: Map[String, BigInt]) {
  import ShardSpans._

  def shardOf(hashKey: BigInt): Option[String] =
    spans.rangeTo(hashKey).lastOption.collect { case (_, span) if span.last >= hashKey => span.shardId }

  def addChildren(hashKey: BigInt, shardId: String): ShardSpans =
    if (shardOf(hashKey).contains(shardId)) this
    else {
      val own   = firsts.get(shardId)
      val first = own.fold(hashKey)(_.min(hashKey))
      val last  = own.fold(hashKey)(start => spans(start).last.max(hashKey))
      // Spans don't overlap, so at most one that begins before the new span reaches into it: the last of them.
      val within = spans.rangeTo(last).rangeFrom(first) ++ spans.rangeTo(first).lastOption.filter(_._2.last >= first)
      ShardSpans(
        (spans -- within.keys).updated(first, Span(last, shardId)),
        (firsts -- within.valuesIterator.map(_.shardId)).updated(shardId, first)
      )
    }
}

object ShardSpans {
  final case class Span(last: BigInt, shardId: String)

  val unknown: ShardSpans = ShardSpans(TreeMap.empty[BigInt, Span], Map.empty)
}
