package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import io.github.kinesisspark.read.coordinator.ExecutorHealth._
import io.github.kinesisspark.read.plan.ExecutorId

/** Which executors are given shards to read: those that answer and run tasks. Pure.
  *
  * An executor whose task slots are all taken for a while still reads, but the tasks of a batch would wait there for
  * `spark.locality.wait` each time. It gets shards again when it has had a free slot for a while.
  */
private[coordinator] final case class ExecutorHealth(slots: Map[ExecutorId, Slots]) {

  /** When a batch is planned, so that the query itself has no task running. */
  def look(executors: Vector[ExecutorState], nowNanos: Long): ExecutorHealth = ExecutorHealth(
    executors.iterator.map(e => e.id -> slots.getOrElse(e.id, Slots.Free).next(e.freeSlots > 0, nowNanos)).toMap
  )

  /** The executors that are given shards. Where none is fit, the least unfit ones, because some executor must read. */
  def usable(executors: Vector[ExecutorState], answering: Set[ExecutorId]): Set[ExecutorId] = {
    val reachable                        = executors.filter(e => answering(e.id))
    val open                             = reachable.filter(_.isOpen)
    val fit                              = open.filterNot(e => slots.get(e.id).exists(_.areTaken))
    def ids(some: Vector[ExecutorState]) = some.iterator.map(_.id).toSet
    Seq(fit, open, reachable, executors).collectFirst { case some if some.nonEmpty => ids(some) }.getOrElse(Set.empty)
  }
}

private[kinesisspark] object ExecutorHealth {
  val unknown: ExecutorHealth = ExecutorHealth(Map.empty)

  /** As long as tasks wait for an executor, at the default `spark.locality.wait`. */
  private val TakenAfter = 3.seconds

  /** Between two looks that lie far apart, other tasks may have come and gone. */
  private val TakenLooks = 5

  /** Longer, so that shards don't move to and fro. */
  private val FreeAfter = 30.seconds

  /** As Spark sees an executor.
    *
    * @param isExcluded Spark runs no task there
    * @param isLeaving  it is being decommissioned or removed
    * @param freeSlots  how many tasks could start there now
    */
  final case class ExecutorState(id: ExecutorId, isExcluded: Boolean, isLeaving: Boolean, freeSlots: Int) {

    /** Whether Spark gives it tasks. */
    def isOpen: Boolean = !isExcluded && !isLeaving

    /** Whether a task would start there at once. */
    def runsTasks: Boolean = isOpen && freeSlots > 0
  }

  /** An executor's task slots over time. */
  sealed trait Slots extends Product with Serializable {
    def areTaken: Boolean = false

    def next(isFree: Boolean, nowNanos: Long): Slots = this match {
      case Slots.Free | _: Slots.Filled if isFree => Slots.Free
      case Slots.Free                             => Slots.Filled(nowNanos, looks = 1)
      case Slots.Filled(since, looks)             =>
        val isLong = nowNanos - since >= TakenAfter.toNanos && looks + 1 >= TakenLooks
        if (isLong) Slots.Taken(None) else Slots.Filled(since, looks + 1)
      case Slots.Taken(_) if !isFree                                         => Slots.Taken(None)
      case Slots.Taken(None)                                                 => Slots.Taken(Some(nowNanos))
      case Slots.Taken(Some(since)) if nowNanos - since >= FreeAfter.toNanos => Slots.Free
      case Slots.Taken(_)                                                    => this
    }
  }

  object Slots {
    case object Free extends Slots

    /** At every look since then.
      *
      * @param looks that found it so
      */
    final case class Filled(since: Long, looks: Int) extends Slots

    /** For so long that its shards are read elsewhere.
      *
      * @param freeSince since when it has a free slot, at every look
      */
    final case class Taken(freeSince: Option[Long]) extends Slots {
      override def areTaken: Boolean = true
    }
  }
}
