package io.github.kinesisspark

import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.aws.{ConsumerStatus, KinesisClients, KnownStreams, StreamConsumer}
import io.github.kinesisspark.config.{FanOutOptions, OptionException, SourceOptions}

/** Looks after the stream consumers of enhanced fan-out by hand, before a query starts or without one:
  * {{{
  * val consumers = new StreamConsumers(Map("streamName" -> "orders", "region" -> "eu-west-1"))
  * consumers.register("app")
  * val arn = consumers.awaitActive("app").head.arn
  * }}}
  * Each call blocks, and deals with all streams of the options, in their order.
  *
  * @param options as of `format("kinesis")`: the streams, region, endpoint, credentials, and the retries of the `efo.` calls. Other
  *                options of the source may be there, and don't matter.
  * @throws io.github.kinesisspark.config.OptionException where the options can't be used
  * @see [[https://docs.aws.amazon.com/streams/latest/dev/enhanced-consumers.html enhanced fan-out consumers]]
  */
final class StreamConsumers private[kinesisspark] (options: Map[String, String], clients: KinesisClients) {

  def this(options: Map[String, String]) = this(options, KinesisClients.ofJvm)

  private val parsed = SourceOptions.parseConsumers(options)

  /** The consumer of that name of each stream, registered where it doesn't exist, with the tags of `efo.tags`. Doesn't wait until it is
    * ACTIVE; but where one is DELETING, until it is gone.
    *
    * @throws io.github.kinesisspark.aws.KinesisException with a stable `errorClass`, such as `KINESIS_CONSUMER_QUOTA`
    */
  def register(name: String): Seq[StreamConsumer] =
    ofEach(stream => Some(stream.consumers.register(stream.arn, valid(name))))

  /** The consumer of that name of each stream, once all of them are ACTIVE; as long as the options
    * `describeStreamConsumer.*` have it.
    *
    * @throws io.github.kinesisspark.aws.KinesisException `KINESIS_NOT_FOUND` where it isn't registered,
    *                                                     `KINESIS_CONSUMER_NOT_READY` where it takes too long, and others
    */
  def awaitActive(name: String): Seq[StreamConsumer] =
    ofEach(stream => Some(stream.consumers.awaitActive(stream.arn, valid(name))))

  /** The consumer of that name of each stream that has one. */
  def describe(name: String): Seq[StreamConsumer] =
    ofEach(stream => stream.consumers.find(stream.arn, valid(name)))

  /** All consumers of all streams. */
  def list(): Seq[StreamConsumer] = ofEach(stream => stream.consumers.list(stream.arn))

  /** Deregisters the consumer of that name of each stream that has one, and returns which they were. Each is DELETING for a while after
    * that. A query that reads through it registers it again, unless it was given its ARN: then it fails.
    *
    * @throws io.github.kinesisspark.aws.KinesisException with a stable `errorClass`, such as `KINESIS_ACCESS_DENIED`
    */
  def deregister(name: String): Seq[StreamConsumer] =
    ofEach(stream => deregistered(stream, stream.consumers.find(stream.arn, valid(name)).toSeq))

  /** Consumers whose names begin with `prefix` and that were registered longer ago than `age`, by this machine's clock. Whether one is
    * in use can't be asked of the service. Those that are DELETING, and those that queries of this application read through, are left out.
    *
    * @throws io.github.kinesisspark.aws.KinesisException with a stable `errorClass`
    */
  def listOld(prefix: String, age: FiniteDuration): Seq[StreamConsumer] = ofEach(old(_, prefix, age))

  /** Deregisters what [[listOld]] lists, and returns them. A prefix can't be empty.
    *
    * @throws io.github.kinesisspark.aws.KinesisException with a stable `errorClass`, such as `KINESIS_ACCESS_DENIED`
    */
  def deregisterOld(prefix: String, age: FiniteDuration): Seq[StreamConsumer] =
    ofEach(stream => deregistered(stream, old(stream, prefix, age)))

  private def deregistered(stream: KnownStreams.Stream, found: Seq[StreamConsumer]) = {
    found.foreach(consumer => stream.consumers.deregister(consumer.arn))
    found
  }

  private def old(stream: KnownStreams.Stream, prefix: String, age: FiniteDuration): Seq[StreamConsumer] = {
    valid(prefix)
    val before                           = clients.runtime.clock.millis() - age.toMillis
    def isFree(consumer: StreamConsumer) = !clients.claims.isTakenAnywhere(stream.arn, consumer.name)
    stream.consumers
      .list(stream.arn)
      .filter(c =>
        c.name.startsWith(prefix) && c.createdMillis < before && c.status != ConsumerStatus.Deleting && isFree(c)
      )
  }

  private def valid(name: String): String = FanOutOptions
    .nameOfConsumer(name)
    .fold(must => throw new OptionException(Seq(s"A consumer's name must be $must. It is '$name'.")), identity)

  private def ofEach(consumers: KnownStreams.Stream => IterableOnce[StreamConsumer]): Seq[StreamConsumer] = {
    val opened = KnownStreams.open(parsed.streams, parsed.tags, clients)
    try opened.streams.flatMap(consumers)
    finally opened.close()
  }
}
