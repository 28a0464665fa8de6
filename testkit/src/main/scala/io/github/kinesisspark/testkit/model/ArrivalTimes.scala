package io.github.kinesisspark.testkit.model

import java.util.SplittableRandom

/** Gives records their arrival times: as the clock has it, and never back if the clock is set back; or up to `backMillis`
  * earlier, which the seed decides, so that they go back from record to record. Guarded by the shard's lock.
  *
  * @param from no record arrives earlier
  */
final private[model] class ArrivalTimes(from: Long, backMillis: Long, seed: Long) {
  private val random = new SplittableRandom(seed)
  private var latest = from

  def next(now: Long): Long = {
    latest = math.max(latest, now)
    if (backMillis == 0) latest else math.max(from, latest - random.nextLong(backMillis + 1))
  }
}
