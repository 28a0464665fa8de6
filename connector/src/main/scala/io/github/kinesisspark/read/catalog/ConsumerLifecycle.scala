package io.github.kinesisspark.read.catalog

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{ConsumerCalls, FanOutConsumers, KinesisClients}
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.StreamArn
import io.github.kinesisspark.read.reader.ResolvedPublisher
import io.github.kinesisspark.runtime.Closing

/** What the driver does so that its readers get records. Consumers are found or registered when the first batch is planned. Used by the query's own
  * thread only.
  *
  * @param consumers none where readers poll
  */
final class ConsumerLifecycle private (consumers: Option[FanOutConsumers]) extends AutoCloseable {
  private var current = Option.empty[ResolvedPublisher.FanOut]

  /** How the readers get their records. */
  def publisher: ResolvedPublisher = {
    current = current.orElse(consumers.map(own => ResolvedPublisher.FanOut(own.resolve())))
    current.getOrElse(ResolvedPublisher.Polling)
  }

  /** After SubscribeToShard found something gone: looks for the stream's consumer, and says whether it is another now, so
    * that the readers can continue.
    */
  def renew(stream: StreamArn): Boolean = consumers.exists { own =>
    val now    = own.renew(stream)
    val before = current
    current = before.map(_.renewed(stream, now))
    current != before
  }

  /** After another query, or another driver of this one, has shown to be the owner of the stream's consumer. */
  def leave(stream: StreamArn): Unit = consumers.foreach(_.leave(stream))

  /** What it took, if it takes any calls. */
  def calls: Option[ConsumerCalls] = consumers.map(_.calls)

  /** Once no reader is left. */
  override def close(): Unit = consumers.foreach(own => Closing.all(() => own.release(), own))
}

object ConsumerLifecycle {
  private val log = LoggerFactory.getLogger(getClass)

  /** @param query its id, as its checkpoint keeps it */
  def of(options: SourceOptions, query: => Option[String], clients: KinesisClients): ConsumerLifecycle =
    new ConsumerLifecycle(options.fanOut.map(FanOutConsumers.open(options.streams, _, query, clients)))

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
}
