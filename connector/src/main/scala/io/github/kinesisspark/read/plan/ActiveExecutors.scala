package io.github.kinesisspark.read.plan

import scala.concurrent.duration.FiniteDuration

/** How many of the executors read, where Spark removes idle ones (dynamic allocation): as many as the load is worth, so that the
  * others become idle. It grows at once and shrinks late.
  *
  * @param ampleSince since when fewer would have done, by the driver's clock
  */
final case class ActiveExecutors(size: Int, ampleSince: Option[Long]) {

  /** @param patience how long fewer must have been enough, without a break */
  def next(needed: Int, nowNanos: Long, patience: FiniteDuration): ActiveExecutors = ampleSince match {
    case _ if needed >= size                                 => ActiveExecutors(needed, None)
    case None                                                => copy(ampleSince = Some(nowNanos))
    case Some(since) if nowNanos - since >= patience.toNanos => ActiveExecutors(needed, None)
    case _                                                   => this
  }
}

object ActiveExecutors {
  val none: ActiveExecutors = ActiveExecutors(0, None)

  /** The least that a reader must be able to hold, so that not all of them become slow. */
  private val BytesOfAReader = 256L << 10

  /** @param batchBytes  of the batches now
    * @param cores       of one executor
    * @param bufferBytes of one executor
    */
  def needed(shards: Int, batchBytes: Long, cores: Int, bufferBytes: Long): Int = {
    def ceiling(n: Long, of: Long) = ((n + of - 1) / of).toInt
    ceiling(batchBytes, RangeGrouping.BytesWorthATask * cores)
      .max(ceiling(shards.toLong, (bufferBytes / BytesOfAReader).max(1)))
      .max(1)
  }
}
