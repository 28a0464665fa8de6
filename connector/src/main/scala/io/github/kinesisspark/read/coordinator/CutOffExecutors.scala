package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.{ExecutorId, ReaderStatus}

/** Which executors Kinesis doesn't answer while it answers others about the same stream: their way to it is cut, as where a subnet has no route to the endpoint. Pure. */
private[coordinator] object CutOffExecutors {

  /** Polling is answered each second at least, and a subscription has an event each five seconds. */
  val Silence: FiniteDuration = 20.seconds

  private val Lately = 10.seconds

  /** @param home the executor that reads a shard */
  def among(statuses: Iterable[ReaderStatus], home: ShardKey => Option[ExecutorId]): Set[ExecutorId] = {
    def asking = statuses.iterator.filter(isAsking)
    val silent = asking.filter(waits(_).exists(_ > Silence.toMillis)).map(_.shard).toVector
    if (silent.isEmpty) Set.empty
    else {
      val answered = asking.filter(isAnswered).map(_.shard).toVector
      // A stream that answers nobody is no executor's fault.
      val streams = answered.iterator.map(_.stream).toSet
      silent.iterator.filter(shard => streams(shard.stream)).flatMap(home(_)).toSet -- answered.iterator.flatMap(
        home(_)
      )
    }
  }

  /** One that is full, or waits for memory, makes no call. */
  private def isAsking(status: ReaderStatus) =
    status.failure.isEmpty && !status.isComplete && !status.isFull && !status.starved

  private def isAnswered(status: ReaderStatus) = status.millisSinceAnswer.exists(_ < Lately.toMillis)

  private def waits(status: ReaderStatus) = status.millisSinceAnswer.orElse(status.openingMillis)
}
