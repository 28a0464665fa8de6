package io.github.kinesisspark.read.reader

import io.github.kinesisspark.position.{ConsumerArn, StreamArn}

/** How readers get their records: by polling, or through which consumer. */
sealed trait ResolvedPublisher extends Product with Serializable {

  /** Through whom a stream is read; readers of a stream whose consumer is another now begin anew. */
  def consumer(stream: StreamArn): Option[ConsumerArn]
}

object ResolvedPublisher {

  /** GetRecords. */
  case object Polling extends ResolvedPublisher {
    override def consumer(stream: StreamArn): Option[ConsumerArn] = None
  }

  /** SubscribeToShard. */
  final case class FanOut(consumers: Map[StreamArn, ConsumerArn]) extends ResolvedPublisher {
    override def consumer(stream: StreamArn): Option[ConsumerArn] = consumers.get(stream)
  }
}
