package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import io.github.kinesisspark.read.coordinator.FailingExecutors._
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.Liveness

/** Executors that did not carry out an order, or whose readers failed, by what was thrown there: one may lack memory, a class or a route that the others have.
  * The others read its shards for a while, longer after each failure. Pure.
  */
private[coordinator] final case class FailingExecutors(failures: Map[ExecutorId, Failing]) {

  def failed(executor: ExecutorId, failure: OrderFailure, nowNanos: Long): FailingExecutors = {
    val before = failures.get(executor)
    // One that rests may fail to release its shards.
    val times = before.fold(1)(b => if (b.rests(nowNanos)) b.times else b.times + 1)
    val since = before.filter(_.rests(nowNanos)).fold(nowNanos)(_.sinceNanos)
    FailingExecutors(failures + (executor -> Failing(failure, times, since, nowNanos)))
  }

  /** Forgets the executors that were only slow and have carried out all their orders since. */
  def answered(isDone: ExecutorId => Boolean): FailingExecutors = {
    val left = failures.filterNot { case (id, failing) => failing.failure == OrderFailure.Unanswered && isDone(id) }
    if (left.size == failures.size) this else FailingExecutors(left)
  }

  /** Executors that rest after a failure, or that have failed and have not carried out all their orders since. */
  def doubted(isDone: ExecutorId => Boolean, nowNanos: Long): Set[ExecutorId] =
    failures.collect { case (id, failing) if failing.rests(nowNanos) || !isDone(id) => id }.toSet

  def keepOnly(present: Set[ExecutorId]): FailingExecutors =
    if (failures.keysIterator.forall(present)) this else FailingExecutors(failures.filter(f => present(f._1)))

  /** Without the executors that rest. Where no other is left to read, those that are only slow, or that don't answer now; otherwise the latest failure. */
  def spared(executors: ExecutorsNow, nowNanos: Long): Either[Throwable, ExecutorsNow] = {
    val resting = failures.filter(_._2.rests(nowNanos))
    val broken  = resting.filter(_._2.failure != OrderFailure.Unanswered)
    val left    = Seq(
      executors.usable -- resting.keys,
      executors.answering -- resting.keys,
      executors.answering -- broken.keys,
      executors.present -- broken.keys
    )
    left.find(_.nonEmpty) match {
      case _ if resting.isEmpty => Right(executors)
      case Some(usable)         => Right(executors.copy(usable = usable))
      case None                 =>
        val latest = broken.values.toVector.sortBy(_.lastNanos - nowNanos).flatMap(_.failure.thrown).lastOption
        latest.toLeft(executors)
    }
  }

  /** An order that failed a moment ago is likely to fail again, and one that was not answered may still be carried out. */
  def mayBeOrdered(executor: ExecutorId, nowNanos: Long): Boolean = failures.get(executor).forall { failing =>
    failing.failure match {
      case OrderFailure.Thrown(_)  => nowNanos - failing.lastNanos > BetweenOrders.toNanos
      case OrderFailure.Unanswered => !failing.rests(nowNanos)
      case OrderFailure.CutOff     => true
    }
  }
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
  final case class Failing(failure: OrderFailure, times: Int, sinceNanos: Long, lastNanos: Long) {
    def rests(nowNanos: Long): Boolean = nowNanos - sinceNanos < rest.toNanos

    def rest: FiniteDuration = (ShortestRest * (1L << (times - 1).min(6))).min(LongestRest)
  }
}

/** Why an executor has not carried out an order, or its readers do not read. */
private[coordinator] sealed trait OrderFailure {
  def what: String
  def thrown: Option[Throwable] = None
}

private[coordinator] object OrderFailure {
  final case class Thrown(cause: Throwable) extends OrderFailure {
    override def what: String              = "An executor's readers failed, or could not carry out an order"
    override def thrown: Option[Throwable] = Some(cause)
  }

  /** Kinesis answers readers on others, and none of its own. */
  case object CutOff extends OrderFailure {
    override def what: String =
      s"Kinesis has answered no reader of an executor for ${CutOffExecutors.Silence.toSeconds} s, and answers those of others"
  }

  /** It answers heartbeats, and not the order. */
  case object Unanswered extends OrderFailure {
    override def what: String =
      s"An executor has not answered an order within ${Liveness.OrderTimeout.toSeconds} s, and answers heartbeats"
  }
}
