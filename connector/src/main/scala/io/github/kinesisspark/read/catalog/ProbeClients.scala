package io.github.kinesisspark.read.catalog

import io.github.kinesisspark.aws.{DirectoryRetry, KinesisClients}
import io.github.kinesisspark.position.StreamArn
import io.github.kinesisspark.read.reader.StreamAccess

/** What the driver needs to look into shards of which it has no catalog any more. */
object ProbeClients {

  def using[A](clients: KinesisClients, streams: Map[StreamArn, StreamAccess])(plan: ShardEnds => A): A = {
    import clients.runtime
    val leases = streams.map { case (arn, access) => arn -> clients.lease(access.client, access.region) }
    def probes(stream: StreamArn) = {
      val lease = leases(stream)
      new ShardProbes(lease.client, DirectoryRetry.of(lease))
    }
    try plan(new ShardEnds(probes))
    finally leases.values.foreach(_.close())
  }
}
