package io.github.kinesisspark.read.reader

import io.github.kinesisspark.read.plan.ArrivalDensity

/** How far a reader has come by the times of arrival of its shard.
  *
  * An answer without records has come further, too, if it says to be less behind than the one before: neither the newest
  * record nor the clock that this is measured from goes back.
  *
  * @param reached what arrived before it is read; in ms by the service's clock, nothing before the first record
  * @param tip     that which `millisBehind` was measured from at the last record, or before it
  * @param density of what it has read lately
  */
final case class ReadingTime(reached: Option[Long], tip: Option[Long], density: ArrivalDensity) {

  /** @param answer what it brought */
  def after(answer: RecordTotals, millisBehind: Long): ReadingTime = {
    val newest = answer.newestArrival
    val latest = newest.map(_ + millisBehind).orElse(tip)
    val to     = (reached ++ newest ++ latest.map(_ - millisBehind)).maxOption
    val from   = reached.orElse(answer.oldestArrival)
    val passed = for (begin <- from; end <- to) yield end - begin
    ReadingTime(to, latest, density.and(answer.bytes, passed.getOrElse(0)))
  }
}

object ReadingTime {
  val unknown: ReadingTime = ReadingTime(None, None, ArrivalDensity.unknown)
}
