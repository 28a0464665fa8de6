package io.github.kinesisspark.read.catalog

import io.github.kinesisspark.aws.{BlockingCalls, ClientLease, KinesisClients}
import io.github.kinesisspark.position.StreamArn
import io.github.kinesisspark.read.reader.StreamAccess
import io.github.kinesisspark.runtime.Closing

/** What the driver needs to look into shards of which it has no catalog any more. */
object ProbeClients {

  def using[A](clients: KinesisClients, streams: Map[StreamArn, StreamAccess])(plan: ShardEnds => A): A = {
    import clients.runtime
    var leases                    = Map.empty[StreamArn, ClientLease]
    def probes(stream: StreamArn) = {
      val lease = leases(stream)
      new ShardProbes(lease.client, BlockingCalls.of(lease))
    }
    try {
      streams.foreach { case (arn, access) => leases += arn -> clients.lease(access.client, access.region) }
      plan(new ShardEnds(probes))
    } finally Closing.all(leases.values.toSeq: _*)
  }
}
