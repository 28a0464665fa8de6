package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import io.github.kinesisspark.read.reader.ShardTip

/** How long readers fill their buffers before a batch takes what they hold. A batch costs Spark the same however large it is, so a long catch-up takes few of
  * them, and writes few files. What readers hold is the most: each action of the batch finds it there, without a call of Kinesis.
  *
  * @param patience at most
  */
final case class Filling(patience: FiniteDuration, isEnough: Iterable[ShardTip] => Boolean)

object Filling {

  /** A batch takes what there is. */
  val none: Filling = Filling(Duration.Zero, _ => true)

  /** For a query that ends with what there is: until that is all that is left, or half of what a reader may hold. It reads on into the other half
    * while the batch runs.
    */
  val untilTheEnd: Filling = Filling(10.seconds, isHalfFull)

  /** For a query that follows its shards: while it is so far behind in all of them that nobody waits for a batch. */
  val behind: Filling = Filling(1.second, tips => isHalfFull(tips) || tips.exists(t => t.hasNews && !isFarBehind(t)))

  private def isHalfFull(tips: Iterable[ShardTip]) = tips.forall(_.isComplete) ||
    tips.exists(tip => tip.failure.isDefined || tip.isFull || tip.starved || tip.heap >= tip.room / 2)

  private def isFarBehind(tip: ShardTip) = tip.millisBehind.exists(_ > FarBehind.toMillis)

  private val FarBehind = 1.minute
}
