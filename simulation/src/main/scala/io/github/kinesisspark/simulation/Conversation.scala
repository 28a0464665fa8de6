package io.github.kinesisspark.simulation

import java.util.concurrent.TimeoutException

import scala.collection.mutable

import io.github.kinesisspark.jar.WireFormat
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.coordinator.{ChannelInside, DriverRuntime}
import io.github.kinesisspark.read.plan.ReaderStatus
import io.github.kinesisspark.read.reader.{Heartbeat, ReadOrder, ReaderReport, ReleaseRequest}

/** What drivers and executors say to each other, overheard by the network, and what must hold of it: orders are carried out with all before them, reports
  * count with all before them, and heartbeats name no reader whose shard was taken from it. It also knows which orders were lost, to be sent again.
  *
  * @param wrong hears what does not hold
  */
final class Conversation(wrong: String => Unit) {
  import Conversation._

  private val drivers = mutable.HashMap.empty[String, DriverRuntime]
  private val orders  = mutable.HashMap.empty[(String, String), Orders]
  private val reports = mutable.HashMap.empty[(String, String, Long), Reports]
  private val reached = mutable.HashSet.empty[String]

  def hasDriver(name: String, runtime: DriverRuntime): Unit = drivers(name) = runtime

  /** The last order to an executor that another is to follow: the driver knows that it was lost, or has the executor's shards read elsewhere and has
    * not told it so. An executor that once did not answer in time is left alone, for longer each time.
    */
  def unfollowed(executor: String, source: String): Option[Long] =
    orders.get((executor, source)).filter(_.isToBeFollowed).map(_.last)

  /** Whether the last heartbeat named readers of an executor, and the last order had some. */
  def isToRead(executor: String, source: String): Boolean = orders.get((executor, source)).exists(_.isToRead)

  /** An executor that did not answer in time gets its share of the shards again after minutes. */
  def hasSlow: Boolean = orders.valuesIterator.exists(_.isSlow)

  /** A request is sent. */
  def asked(from: String, to: String, request: Array[Byte]): Callbacks =
    WireFormat.read[AnyRef](request) match {
      case order: ReadOrder =>
        val its = orders.getOrElseUpdate((to, order.sourceId), new Orders)
        its.sent(order)
        Callbacks(
          reply =>
            ChannelInside.answer(reply).foreach { answer =>
              if (answer.isNext && !its.carriedOut(order))
                wrong(s"$to has carried out order ${order.number}, and not the one before it")
              answer.report.foreach(made(to, _))
            },
          its.failed(order, _)
        )
      case report: ReaderReport =>
        made(from, report)
        Callbacks(reply => if (ChannelInside.isUsed(reply)) used(from, to, report), _ => ())
      case release: ReleaseRequest =>
        orders.remove((to, release.sourceId))
        Callbacks.Nothing
      case _ => Callbacks.Nothing
    }

  /** Whether a driver has sent an executor heartbeats. */
  def reaches(executor: String): Boolean = reached(executor)

  /** A driver names an executor's readers. */
  def beats(executor: String, heartbeat: Array[Byte]): Unit = {
    reached += executor
    val epochs = WireFormat.read[Heartbeat](heartbeat).epochs
    for (((to, source), its) <- orders if to == executor) its.isNamed = epochs.contains(source)
    epochs.foreach { case (source, epoch) =>
      for {
        its    <- orders.get((executor, source))
        before <- its.meantAt(epoch)
        now    <- its.meantAt(its.last)
        shard  <- before -- now
      } wrong(s"$executor reads $shard no more, and is named with order $epoch by which it still did")
    }
  }

  private def made(executor: String, report: ReaderReport): Unit =
    reports.getOrElseUpdate((executor, report.sourceId, report.pool), new Reports).made(report)

  private def used(executor: String, driver: String, report: ReaderReport): Unit = {
    orders.get((executor, report.sourceId)).foreach(_.reported(report.applied))
    check(executor, driver, report)
  }

  /** Once a driver has made use of a report, it knows what all reports of these readers up to that one say. This includes reports that were lost. */
  private def check(executor: String, driver: String, report: ReaderReport): Unit = for {
    runtime <- drivers.get(driver)
    known   <- ChannelInside.known(runtime, report.sourceId, report.executorId)
    its     <- reports.get((executor, report.sourceId, known.pool))
    own     <- its.upTo(known.number)
  } {
    val theirs = known.statuses.map { case (shard, reported) => shard -> Standing.of(reported.status) }
    if (theirs != own)
      wrong(
        s"$driver knows otherwise than $executor has said by report ${known.number}: of ${(theirs.toSet -- own ++ (own.toSet -- theirs)).map(_._1).mkString(", ")}"
      )
  }
}

object Conversation {

  /** What is to be called with the outcome of a request.
    *
    * @param replied with the answer, where the request arrived
    * @param failed  with the cause, at its sender, where no answer has come
    */
  final case class Callbacks(replied: Array[Byte] => Unit, failed: Throwable => Unit)

  object Callbacks {
    val Nothing: Callbacks = Callbacks(_ => (), _ => ())
  }

  /** Of one executor's readers of one source, as they were sent. */
  final class Orders {
    private val meant   = mutable.HashMap.empty[Long, Set[ShardKey]]
    private var carried = 0L
    private var lost    = Option.empty[Long]
    private var known   = 0L

    var isSlow = false
    var last   = 0L

    /** Whether the last heartbeat to the executor names these readers. */
    var isNamed = true

    def sent(order: ReadOrder): Unit = {
      val before = if (order.settings.isDefined) Some(Set.empty[ShardKey]) else meantAt(order.number - 1)
      before.foreach(shards => meant(order.number) = shards -- order.release ++ order.read.iterator.map(_.shard))
      last = order.number
    }

    def failed(order: ReadOrder, cause: Throwable): Unit = cause match {
      case _: TimeoutException => isSlow = true
      case _                   => lost = Some(order.number)
    }

    def reported(applied: Long): Unit = known = applied

    def isToBeFollowed: Boolean = !isSlow && (isLost || (!isNamed && hasShards))

    def isToRead: Boolean = isNamed && hasShards

    private def hasShards = meantAt(last).exists(_.nonEmpty)

    /** And not its answer alone, nor an order by which the executor reads what it reads already. */
    private def isLost = lost.contains(last) && last > known && meantAt(last) != meantAt(known)

    /** Which shards its readers read once it has carried out an order; nothing where one before that was never sent. */
    def meantAt(order: Long): Option[Set[ShardKey]] = meant.get(order)

    /** Whether it had carried out the one before, where it has to. */
    def carriedOut(order: ReadOrder): Boolean = {
      val follows = order.settings.isDefined || order.number == carried + 1
      carried = order.number
      follows
    }
  }

  /** Of one generation of readers. */
  final class Reports {
    private val stood = mutable.LongMap.empty[Map[ShardKey, Standing]]

    def made(report: ReaderReport): Unit = {
      val before =
        if (report.isOfAllReaders) Some(Map.empty[ShardKey, Standing])
        else stood.get(report.number - 1).map(_ -- report.gone)
      before.foreach { others =>
        stood(report.number) = others ++ report.statuses.map(s => s.shard -> Standing.of(s))
      }
      stood -= report.number - Remembered
    }

    /** Nothing where a report before that could not be made. */
    def upTo(number: Long): Option[Map[ShardKey, Standing]] = stood.get(number)
  }

  /** Where a reader stands, which its driver plans by. */
  final case class Standing(position: String, records: Long, isComplete: Boolean)

  object Standing {
    def of(status: ReaderStatus): Standing =
      Standing(s"${status.base} to ${status.position}", status.records, status.isComplete)
  }

  /** A driver that has missed as many reports has asked for all readers. */
  private val Remembered = 1000
}
