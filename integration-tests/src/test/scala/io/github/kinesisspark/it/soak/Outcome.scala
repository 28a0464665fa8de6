package io.github.kinesisspark.it.soak

import scala.concurrent.duration._

import io.github.kinesisspark.it.soak.Figures._

/** What a soak has come to.
  *
  * @param written  the last number of each key
  * @param failures of queries, which nobody had asked to stop
  * @param struck   how often each trouble struck
  * @param deeds    how often everything else was done
  * @param threads  by group, after the warm-up and at the end
  * @param heap     used after collections, at even intervals
  * @param together the longest that the server knew two subscriptions of one shard
  * @param leftOver subscriptions that lived on after the query had stopped
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
    threads: (Map[String, Int], Map[String, Int]),
    heap: Vector[Long],
    together: FiniteDuration,
    leftOver: Vector[String]
) {
  import Outcome._

  private val unfinished = ledger.unfinished(written)
  private val growth     = Vitals.heapOf(heap)

  private def lost = unfinished.collect { case l: Wrong.Lost => l.through - l.from + 1 }.sum

  /** What is wrong with it. */
  def complaints: Vector[String] =
    (ledger.wrongs ++ unfinished.take(Shown)).map(_.toString) ++
      failures.map(f => s"the query failed: $f") ++
      struck.toVector.sorted.collect { case (name, 0) => s"$name never struck, so it was not tried" } ++
      Vitals.grown(threads._1, threads._2) ++
      Option.unless(growth.isFlat)(s"the heap grows: ${growth.second >> 20} MB, later ${growth.last >> 20} MB") ++
      Option.when(together > Overlap)(s"two subscriptions of one shard lived for ${together.toMillis} ms together") ++
      leftOver.map(s => s"after the query has stopped there is still $s")

  def json: ujson.Obj = obj(
    "records"              -> number(ledger.records),
    "written"              -> number(written.values.sum),
    "lost"                 -> number(lost),
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
    "threadsStart"         -> number(threads._1.values.sum),
    "threadsEnd"           -> number(threads._2.values.sum),
    "heapMbSecondQuarter"  -> megabytes(growth.second),
    "heapMbLastQuarter"    -> megabytes(growth.last),
    "complaints"           -> texts(complaints)
  )
}

object Outcome {

  /** The server learns that a client has left a subscription, and writes the end of one that was taken over, within that time. */
  val Overlap: FiniteDuration = 1.second

  private val Shown = 20
}
