package io.github.kinesisspark.it.source

import java.time.Duration

import scala.util.Using

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.SilentCalls
import io.github.kinesisspark.it.ConnectorClients
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, TrimHorizon}
import io.github.kinesisspark.position.{SequenceNumber, ShardKey, StreamArn}
import io.github.kinesisspark.read.catalog.{ShardEnds, ShardProbes}
import io.github.kinesisspark.testkit.{KinesisServer, KinesisServerConfig, ServiceClock}

/** Tests the search for a shard's newest record, which no call of Kinesis returns. */
final class NewestRecordSpec extends AnyFunSpec with Matchers {
  it("a shard that has been idle for 5 minutes is read once for each iterator of the search, and twice at its end") {
    val clock = ServiceClock.shifted()
    Using.resource(KinesisServer.start(KinesisServerConfig(clock = clock))) { server =>
      server.streams.createStream("s", 1)
      val newest = (1 to 3000).map { _ =>
        clock.advance(Duration.ofMillis(100))
        server.streams.put("s", "k", "v").sequenceNumber
      }.last
      clock.advance(Duration.ofMinutes(5))
      Using.resource(ConnectorClients.lease(server.endpoint)) { lease =>
        val arn = lease.client.describeStreamSummary(r => r.streamName("s"): Unit).join().streamDescriptionSummary
        val key = ShardKey(StreamArn(arn.streamARN), server.streams.shards("s").head.id)
        val end =
          new ShardEnds(_ => new ShardProbes(lease.client, SilentCalls.retry())).tip(key, TrimHorizon, clock.millis).end
        end shouldBe AfterSequenceNumber(SequenceNumber(newest))
      }
      val (iterators, reads) = (server.calls.count("GetShardIterator"), server.calls.count("GetRecords"))
      iterators should be > 5L
      reads should be <= iterators + 3
    }
  }
}
