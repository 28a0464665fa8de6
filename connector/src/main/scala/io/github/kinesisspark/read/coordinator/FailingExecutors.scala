package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import io.github.kinesisspark.read.coordinator.FailingExecutors._
import io.github.kinesisspark.read.plan.ExecutorId

/** Executors that could not carry out an order, or whose readers failed, by what was thrown there: one may lack memory or a class that the others have.
  * The others read its shards for a while, longer after each failure. Pure.
  */
private[coordinator] final case class FailingExecutors(failures: Map[ExecutorId, Failing]) {

  def failed(executor: ExecutorId, cause: Throwable, nowNanos: Long): FailingExecutors = {
    val before = failures.get(executor)
    // One that rests may fail to release its shards.
    val times = before.fold(1)(b => if (b.rests(nowNanos)) b.times else b.times + 1)
    val since = before.filter(_.rests(nowNanos)).fold(nowNanos)(_.sinceNanos)
    FailingExecutors(failures + (executor -> Failing(cause, times, since, nowNanos)))
  }

  def keepOnly(present: Set[ExecutorId]): FailingExecutors =
    if (failures.keysIterator.forall(present)) this else FailingExecutors(failures.filter(f => present(f._1)))

  /** Without those that rest; the latest failure where nobody else is left to read. */
  def spared(executors: ExecutorsNow, nowNanos: Long): Either[Throwable, ExecutorsNow] = {
    val resting = failures.filter(_._2.rests(nowNanos))
    val left    = Seq(executors.usable, executors.answering).map(_ -- resting.keys)
    left.find(_.nonEmpty) match {
      case _ if resting.isEmpty => Right(executors)
      case Some(usable)         => Right(executors.copy(usable = usable))
      case None                 => Left(resting.values.maxBy(_.lastNanos - nowNanos).cause)
    }
  }

  /** An order that failed a moment ago is likely to fail again. */
  def mayBeOrdered(executor: ExecutorId, nowNanos: Long): Boolean =
    failures.get(executor).forall(nowNanos - _.lastNanos > BetweenOrders.toNanos)
}

private[coordinator] object FailingExecutors {
  val none: FailingExecutors = FailingExecutors(Map.empty)

  private val ShortestRest  = 1.minute
  private val LongestRest   = 1.hour
  private val BetweenOrders = 1.second

  /** @param times      it has failed after a rest
    * @param sinceNanos the first failure since its last rest, by the driver's clock
    * @param lastNanos  the last failure
    */
  final case class Failing(cause: Throwable, times: Int, sinceNanos: Long, lastNanos: Long) {
    def rests(nowNanos: Long): Boolean = nowNanos - sinceNanos < rest.toNanos

    def rest: FiniteDuration = (ShortestRest * (1L << (times - 1).min(6))).min(LongestRest)
  }
}
