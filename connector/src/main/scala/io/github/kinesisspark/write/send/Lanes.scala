package io.github.kinesisspark.write.send

/** The shards of a stream that are written to at a pace of their own, and which of them a record is for.
  *
  * @param spans learnt from the first refusal on: while nothing is refused, nobody asks where a record goes
  */
final case class Lanes(byShard: Map[String, Lane] = Map.empty, spans: ShardSpans = ShardSpans.unknown) {
  import Lanes._

  /** When the first of them may send what waits for it. */
  lazy val due: Option[Long] =
    byShard.valuesIterator.filter(l => !l.underWay && l.waiting.nonEmpty).map(_.due).minOption

  def isDue(now: Long): Boolean = due.exists(_ <= now)

  /** The shard whose lane the record has to take, if it is known to go there. */
  def of(entry: Entry): Option[String] =
    if (byShard.isEmpty) None else spans.shardOf(entry.hashKey).filter(byShard.contains)

  def updated(shard: String, change: Lane => Lane): Lanes =
    byShard.get(shard).fold(this)(lane => copy(byShard = byShard.updated(shard, change(lane))))

  def parked(shard: String, record: Waiting): Lanes = updated(shard, _.park(record))

  /** What an answer tells of shards: the paces of those whose turn it was, new lanes for others that refused, and where hash keys
    * belong.
    *
    * @return and the records that are to be sent anew without a lane, because theirs is no more
    */
  def answered(batch: Batch, results: Vector[RecordAnswer], now: Long, chance: Double): (Lanes, Vector[Waiting]) = {
    val pairs   = batch.records.zip(results)
    val refused = pairs.collect { case (record, r: RecordAnswer.Refused) => (record.refused(now), r) }
    if (refused.isEmpty && byShard.isEmpty) (this, Vector.empty)
    else {
      val learnt = pairs.foldLeft(spans) {
        case (known, (record, RecordAnswer.Taken(shard)))               => known.learn(record.entry.hashKey, shard)
        case (known, (record, RecordAnswer.Refused(_, ShardOf(shard)))) => known.learn(record.entry.hashKey, shard)
        case (known, _)                                                 => known
      }
      val turned = batch.lanes.foldLeft(byShard) { (lanes, shard) =>
        val own = pairs.filter(_._1.lane.contains(shard))
        lanes.updatedWith(shard)(_.map(afterTurn(_, own, now, chance)))
      }
      val parked = refused.groupBy { case (record, answer) => shardOf(record, answer, learnt) }.foldLeft(turned) {
        case (lanes, (shard, several)) =>
          val lane = lanes.getOrElse(shard, Lane(now).backOff(some = false, now, chance))
          lanes.updated(shard, lane.parkFirst(several.map(_._1)))
      }
      val (over, left) = parked.partition { case (_, lane) => (lane.isFree && !lane.underWay) || lane.isIdle(now) }
      (Lanes(left, learnt), over.valuesIterator.flatMap(_.waiting).toVector)
    }
  }

  def recalled(batch: Batch): Lanes = batch.lanes.foldLeft(this)((lanes, shard) => lanes.updated(shard, _.recalled))
}

object Lanes {

  /** For records whose shard nobody knows. */
  private val Unknown = "an unknown shard"

  private object ShardOf {
    private val Named = "shardId-[0-9]+".r.unanchored

    /** From "Rate exceeded for shard shardId-000000000000 in stream ... under account ...". */
    def unapply(message: String): Option[String] = Option(message).flatMap(Named.findFirstIn)
  }

  def shardOf(record: Waiting, answer: RecordAnswer.Refused, spans: ShardSpans): String =
    ShardOf.unapply(answer.message).orElse(spans.shardOf(record.entry.hashKey)).getOrElse(Unknown)

  private def afterTurn(lane: Lane, own: Vector[(Waiting, RecordAnswer)], now: Long, chance: Double): Lane = {
    val taken   = own.iterator.collect { case (r, _: RecordAnswer.Taken) => Lane.cost(r.entry) }.sum
    val refused =
      own.iterator.collect { case (r, a: RecordAnswer.Refused) if a.isThrottling => Lane.cost(r.entry) }.sum
    val turned = lane.returned(taken, refused)
    if (own.exists(_._2.isInstanceOf[RecordAnswer.Refused])) turned.backOff(taken > 0, now, chance) else turned
  }
}
