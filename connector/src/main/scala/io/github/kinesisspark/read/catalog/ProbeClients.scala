package io.github.kinesisspark.read.catalog

import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.aws.{DirectoryRetry, KinesisClients}
import io.github.kinesisspark.position.StreamArn
import io.github.kinesisspark.read.reader.StreamAccess

/** What the driver needs to look into shards while it plans. */
object ProbeClients {

  /** @param patience with each question; left out, `maxRetryDuration` */
  def using[A](clients: KinesisClients, streams: Map[StreamArn, StreamAccess], patience: Option[FiniteDuration] = None)(
      plan: ShardEnds => A
  ): A = {
    import clients.runtime
    val leases = streams.map { case (arn, access) => arn -> clients.lease(access.client, access.region) }
    def probes(stream: StreamArn) = {
      val lease = leases(stream)
      new ShardProbes(lease.client, patience.fold(DirectoryRetry.of(lease))(DirectoryRetry.of(lease, _)))
    }
    try plan(new ShardEnds(probes))
    finally leases.values.foreach(_.close())
  }
}
