package io.github.kinesisspark.it.soak

import scala.concurrent.duration._

import io.github.kinesisspark.it.soak.Figures._

/** What a soak has come to.
  *
  * @param written   the last number of each key
  * @param failures  of queries, which nobody had asked to stop
  * @param struck    how often each trouble struck
  * @param deeds     how often everything else was done
  * @param together  the longest that the server knew two subscriptions of one shard
  * @param leftOver  subscriptions that lived on after the query had stopped
  * @param warm      after the warm-up
  * @param end       when all was read
  * @param heapSlack bytes that the heap may grow by
  */
final case class Outcome(
    ledger: Ledger,
    written: Map[Int, Long],
    batches: Long,
    replays: Long,
    failures: Vector[String],
    struck: Map[String, Long],
    deeds: Map[String, Int],
    restarts: Int,
    subscriptions: Map[String, Long],
    longestSilence: FiniteDuration,
    together: FiniteDuration,
    leftOver: Vector[String],
    warm: Threads,
    end: Threads,
    heap: Heap,
    heapSlack: Long
) {
  import Outcome._

  private val unfinished = ledger.unfinished(written)

  /** What is wrong with it. */
  def complaints: Vector[String] =
    (ledger.wrongs ++ unfinished.take(Shown)).map(_.toString) ++
      failures.map(f => s"the query failed: $f") ++
      struck.toVector.sorted.collect { case (name, 0) => s"$name never struck, so it was not tried" } ++
      Option.when(together > Overlap)(s"two subscriptions of one shard lived for ${together.toMillis} ms together") ++
      leftOver.map(s => s"after the query has stopped there is still $s") ++
      warm.grown(end) ++
      Option.unless(heap.isFlat(heapSlack))(s"the heap grows: ${heap.second >> 20} MB, later ${heap.last >> 20} MB")

  def json: ujson.Obj = obj(
    "records"              -> number(ledger.records),
    "written"              -> number(written.values.sum),
    "lost"                 -> number(unfinished.collect { case l: Wrong.Lost => l.through - l.from + 1 }.sum),
    "doubled"              -> number(ledger.doubled),
    "reordered"            -> number(ledger.reordered),
    "batches"              -> number(batches),
    "replayedBatches"      -> number(replays),
    "restarts"             -> number(restarts),
    "failures"             -> number(failures.size),
    "deeds"                -> counts(deeds),
    "struck"               -> counts(struck),
    "subscriptions"        -> counts(subscriptions),
    "longestSilenceMillis" -> number(longestSilence.toMillis),
    "togetherMillis"       -> number(together.toMillis),
    "leftOver"             -> number(leftOver.size),
    "threadsWarm"          -> number(warm.all),
    "threadsEnd"           -> number(end.all),
    "heapMbSecondQuarter"  -> megabytes(heap.second),
    "heapMbLastQuarter"    -> megabytes(heap.last),
    "complaints"           -> texts(complaints)
  )
}

object Outcome {

  /** The server learns that a client has left a subscription, and writes the end of one that was taken over, within that time. */
  val Overlap: FiniteDuration = 4.seconds

  private val Shown = 20
}
