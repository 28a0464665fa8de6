package io.github.kinesisspark.testkit.model

import java.util.SplittableRandom

/** Gives records their arrival times: as the clock has it, and never back if the clock is set back; or up to `backMillis`
  * earlier, which the seed decides, so that they go back from record to record. Guarded by the shard's lock.
  *
  * @param from no record arrives earlier
  */
final private[model] class ArrivalTimes(from: Long, backMillis: Long, seed: Long) {
  private val random  = new SplittableRandom(seed)
  private var highest = from

  /** No record has arrived later. */
  def latest: Long = highest

  def next(now: Long): Long = {
    highest = math.max(highest, now)
    if (backMillis == 0) highest else math.max(from, highest - random.nextLong(backMillis + 1))
  }
}
