package io.github.kinesisspark.read.reader

import io.github.kinesisspark.position.{ConsumerArn, StreamArn}

/** How readers get their records: by polling, or through which consumer. */
sealed trait ResolvedPublisher extends Product with Serializable {

  /** Through whom a stream is read; readers of a stream whose consumer is another now begin anew. */
  def consumer(stream: StreamArn): Option[ConsumerArn]

  /** How often a consumer was registered anew before: of two of one query, the one with more is newer. */
  def renewals: Int
}

object ResolvedPublisher {

  /** GetRecords. */
  case object Polling extends ResolvedPublisher {
    override def consumer(stream: StreamArn): Option[ConsumerArn] = None
    override def renewals: Int                                    = 0
  }

  /** SubscribeToShard. */
  final case class FanOut(consumers: Map[StreamArn, ConsumerArn], renewals: Int = 0) extends ResolvedPublisher {
    override def consumer(stream: StreamArn): Option[ConsumerArn]              = consumers.get(stream)
    def renewed(stream: StreamArn, now: ConsumerArn): ResolvedPublisher.FanOut =
      if (consumer(stream).contains(now)) this else FanOut(consumers.updated(stream, now), renewals + 1)
  }
}
