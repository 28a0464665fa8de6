package io.github.kinesisspark.aws

import java.net.URI

import io.github.kinesisspark.config.{StreamOptions, StreamRef}
import io.github.kinesisspark.position.{ConsumerArn, StreamArn}
import io.github.kinesisspark.runtime.Closing

/** Streams whose ARNs are known, each with the directory of its consumers. */
private[kinesisspark] final class KnownStreams private (
    val streams: Seq[KnownStreams.Stream],
    leases: Seq[ClientLease]
) extends AutoCloseable {
  override def close(): Unit = leases.foreach(_.close())
}

private[kinesisspark] object KnownStreams {

  /** @param ref      as the user named it
    * @param endpoint instead of AWS's own
    */
  final case class Stream(ref: StreamRef, arn: StreamArn, endpoint: Option[URI], consumers: ConsumerDirectory)

  /** Describes the streams that were given by name; those given by ARN are not looked up.
    *
    * @param tags of consumers that are registered
    * @throws KinesisException `KINESIS_NO_REGION`, `KINESIS_NOT_FOUND` where there is no such stream, and others of its description
    */
  def open(
      streams: Seq[StreamOptions],
      tags: Map[String, String],
      clients: KinesisClients,
      observer: CallObserver = new ConsumerMeter,
      registered: ConsumerArn => Unit = _ => ()
  ): KnownStreams = {
    import clients.runtime
    val leases = Seq.newBuilder[ClientLease]
    Closing.unlessMade(leases.result().foreach(_.close())) {
      val known = streams.map { stream =>
        val lease = clients.lease(stream.client, Regions.resolve(stream.stream, stream.client))
        leases += lease
        val arn = stream.stream.arn.getOrElse(
          new StreamDirectory(lease.client, BlockingCalls.of(lease))
            .describe(stream.stream)
            .arn
        )
        val consumers =
          new ConsumerDirectory(lease.client, lease.retries, () => lease.hasWorked, observer, tags, registered)
        Stream(stream.stream, arn, stream.client.endpoint, consumers)
      }
      new KnownStreams(known, leases.result())
    }
  }
}
