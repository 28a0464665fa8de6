package io.github.kinesisspark.it.source

import java.time.Duration

import scala.util.Using

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.{ClientKind, KinesisClients, ShardPeeks}
import io.github.kinesisspark.config.{ClientOptions, ConnectionOptions, CredentialsOptions, Secret}
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, TrimHorizon}
import io.github.kinesisspark.position.{SequenceNumber, ShardKey, StreamArn}
import io.github.kinesisspark.read.catalog.ShardEnds
import io.github.kinesisspark.testkit.{KinesisServer, KinesisServerConfig, ServiceClock}

/** Tests the search for a shard's newest record, which no call of Kinesis returns. */
final class NewestRecordSpec extends AnyFunSpec with Matchers {
  private val keys = CredentialsOptions.StaticKeys(new Secret("test"), new Secret("test"), None)

  it("a shard that has been idle for 5 minutes is read once for each iterator of the search, and twice at its end") {
    val clock = ServiceClock.shifted()
    Using.resource(KinesisServer.start(KinesisServerConfig(clock = clock))) { server =>
      server.streams.createStream("s", 1)
      val newest = (1 to 3000).map { _ =>
        clock.advance(Duration.ofMillis(100))
        server.streams.put("s", "k", "v").sequenceNumber
      }.last
      clock.advance(Duration.ofMinutes(5))
      val options = ClientOptions(None, Some(server.endpoint), keys, ConnectionOptions())
      Using.resource(KinesisClients.lease(options, "us-east-1", ClientKind.Calls)) { lease =>
        val arn = lease.client.describeStreamSummary(r => r.streamName("s"): Unit).join().streamDescriptionSummary
        val key = ShardKey(StreamArn(arn.streamARN), server.streams.shards("s").head.id)
        val end = new ShardEnds(_ => new ShardPeeks(lease.client)).tip(key, TrimHorizon, clock.millis).end
        end shouldBe AfterSequenceNumber(SequenceNumber(newest))
      }
      val (iterators, reads) = (server.calls.count("GetShardIterator"), server.calls.count("GetRecords"))
      iterators should be > 5L
      reads should be <= iterators + 3
    }
  }
}
