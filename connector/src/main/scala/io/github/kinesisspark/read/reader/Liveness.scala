package io.github.kinesisspark.read.reader

import scala.concurrent.duration._

/** How readers know that their driver lives and still needs them. All times of this contract stand here.
  *
  * A driver names each executor's pools every [[Liveness.Beat]], each with the epoch of its shards: the last order that changed which they are. The answer has
  * the last order that each live pool has carried out. From this follows what both may do:
  *
  *   - The driver orders a pool again, whole, if it is missing or has carried out less than it had before, however long either of them stood still.
  *   - An executor that doesn't answer for [[Liveness.SilentBeats]] beats loses its shards to others, which begin at once. The query's own thread has them
  *     begin when it plans; in a batch that takes long, the heartbeats' thread does, [[Liveness.BeatsOfPlanning]] beats later.
  *   - A subscription that another one has taken the place of is opened again only once the driver has named the pool since. Kinesis lets the newest
  *     subscription win, so a reader that lost its shard in the driver's eyes never takes it back.
  *   - A reader that a task has begun is wanted as long as the task follows it or an order names its shard. Unwanted, it never takes a subscription back, and
  *     closes after [[Liveness.AfterTask]].
  *   - A pool that isn't named closes after its lease. This frees memory and calls, and fences nothing: the lease may be longer than a shard takes to move.
  *
  * @param lease for how long readers stay open without a message from their driver
  */
sealed abstract class Liveness(val lease: FiniteDuration) extends Product with Serializable

object Liveness {

  /** In the driver's own process there is neither a network nor another process between them: the end of the query closes the readers. */
  case object SameProcess extends Liveness(365.days)

  /** Heartbeats. Longer than a driver usually stands still for. */
  case object Heartbeats extends Liveness(1.minute)

  val Beat: FiniteDuration = 1.second

  /** A heartbeat without an answer until then has failed. */
  val BeatTimeout: FiniteDuration = 10.seconds

  /** Heartbeats in a row without an answer, after which an executor gets no shards. */
  val SilentBeats = 4

  /** So many heartbeats later, others get its shards though no planning has come, as in a batch that takes long. */
  val BeatsOfPlanning = 2

  /** For so long an executor may take to answer an order. */
  val OrderTimeout: FiniteDuration = 10.seconds

  /** How long readers continue after a task has used them, at least. */
  val AfterTask: FiniteDuration = 1.minute
}

/** What a driver says to an executor every second.
  *
  * @param epochs        of the sources that are read there
  * @param driverNanos   the driver's clock
  * @param answeredNanos when the executor gave the last answer that the driver has, by the executor's clock
  */
final case class Heartbeat(epochs: Map[String, Long], driverNanos: Long, answeredNanos: Option[Long])

/** The answer to a heartbeat.
  *
  * @param pools   those of the sources that the heartbeat names, with the last order that each has carried out
  * @param atNanos by the executor's clock
  */
final case class LivePools(pools: Map[String, Long], atNanos: Long)
