package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

/** How long readers fill their buffers before a batch takes what they hold. A batch costs Spark the same however large it is, so a long catch-up takes few of
  * them, and writes few files. What readers hold is the most: each action of the batch finds it there, without a call of Kinesis.
  *
  * @param patience at most
  */
final case class FillTarget(patience: FiniteDuration, isEnough: Iterable[ReaderStatus] => Boolean)

object FillTarget {

  /** A batch takes what there is. */
  val none: FillTarget = FillTarget(Duration.Zero, _ => true)

  /** For a query that ends with what there is: until that is all that is left, or half of what the readers may hold. They read on into the other half
    * while the batch runs.
    */
  val untilTheEnd: FillTarget = FillTarget(10.seconds, isHalfFull)

  /** For a query that follows its shards: while it is so far behind in all of them that a batch is not urgent. */
  val behind: FillTarget =
    FillTarget(1.second, statuses => isHalfFull(statuses) || statuses.exists(t => t.hasNews && !isFarBehind(t)))

  /** Not as soon as one shard is full: that may be ahead of the others for a moment, and a batch for each shard would be small. */
  private def isHalfFull(statuses: Iterable[ReaderStatus]) = {
    val more = statuses.filter(_.isBehind)
    statuses.forall(_.isComplete) || statuses.exists(status => status.failure.isDefined || status.starved) ||
    (more.nonEmpty && (more.forall(_.isFull) || more.map(_.heap).sum >= more.map(_.room).sum / 2))
  }

  private def isFarBehind(status: ReaderStatus) = status.millisBehind.exists(_ > FarBehind.toMillis)

  private val FarBehind = 10.seconds
}
