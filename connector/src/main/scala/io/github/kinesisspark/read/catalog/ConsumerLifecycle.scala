package io.github.kinesisspark.read.catalog

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{ConsumerCalls, FanOutConsumers, KinesisClients}
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.StreamArn
import io.github.kinesisspark.read.reader.ResolvedPublisher
import io.github.kinesisspark.runtime.Closing

/** What the driver does so that its readers get records. Used by the query's own thread only. */
sealed trait ConsumerLifecycle extends AutoCloseable {

  /** How the readers get their records. */
  def publisher: ResolvedPublisher

  /** After SubscribeToShard found something gone: looks for the stream's consumer, and says whether it is another now, so
    * that the readers can continue.
    */
  def renew(stream: StreamArn): Boolean

  /** After another query, or another driver of this one, has shown to be the owner of the stream's consumer. */
  def leave(stream: StreamArn): Unit

  /** What it took, if it takes any calls. */
  def calls: Option[ConsumerCalls]

  /** Once no reader is left. */
  override def close(): Unit
}

object ConsumerLifecycle {
  private val log = LoggerFactory.getLogger(getClass)

  /** @param query its id, as its checkpoint keeps it */
  def of(options: SourceOptions, query: => Option[String], clients: KinesisClients): ConsumerLifecycle =
    options.fanOut.fold[ConsumerLifecycle](Polling) { fanOut =>
      new FanOut(FanOutConsumers.open(options.streams, fanOut, query, clients))
    }

  /** At `load()`, before there is a query. */
  def begin(options: SourceOptions, clients: KinesisClients): Unit =
    options.fanOut.foreach(FanOutConsumers.begin(options.streams, _, clients))

  /** How the tasks of a batch read get their records: by polling where a query of this driver reads through one of the consumers, as they would take its
    * shards from it. Nobody reports the end of a batch read, so the consumer stays.
    */
  def ofBatch(options: SourceOptions, clients: KinesisClients): ResolvedPublisher = options.fanOut match {
    case None         => ResolvedPublisher.Polling
    case Some(fanOut) =>
      val consumers = FanOutConsumers.open(options.streams, fanOut, query = None, clients)
      try {
        val taken = consumers.taken
        if (taken.isEmpty) {
          val found = consumers.find()
          consumers.leftBehind.foreach(arn =>
            log.warn(
              s"Stream consumer ${arn.name} stays registered after a batch read and is charged for: $arn. " +
                s"Remove it with StreamConsumers.deregister('${arn.name}')."
            )
          )
          ResolvedPublisher.FanOut(found)
        } else {
          log.warn(
            s"A batch read polls, as a query of this application reads ${taken.mkString(", ")} through the consumer that its options name. " +
              "Give it another, by efo.consumerName (or efo.consumerArn.<stream>), if it is to read by fan-out."
          )
          ResolvedPublisher.Polling
        }
      } finally consumers.close()
  }

  private[kinesisspark] case object Polling extends ConsumerLifecycle {
    override def publisher: ResolvedPublisher      = ResolvedPublisher.Polling
    override def renew(stream: StreamArn): Boolean = false
    override def leave(stream: StreamArn): Unit    = ()
    override def calls: Option[ConsumerCalls]      = None
    override def close(): Unit                     = ()
  }

  /** Consumers are found or registered when the first batch is planned. */
  private final class FanOut(consumers: FanOutConsumers) extends ConsumerLifecycle {
    private var current = Option.empty[ResolvedPublisher.FanOut]

    override def publisher: ResolvedPublisher = current.getOrElse {
      val resolved = ResolvedPublisher.FanOut(consumers.resolve())
      current = Some(resolved)
      resolved
    }

    override def renew(stream: StreamArn): Boolean = {
      val now    = consumers.renew(stream)
      val before = current
      current = before.map(_.renewed(stream, now))
      current != before
    }

    override def leave(stream: StreamArn): Unit = consumers.leave(stream)

    override def calls: Option[ConsumerCalls] = Some(consumers.calls)

    override def close(): Unit = Closing.all(() => consumers.release(), consumers)
  }
}
