package io.github.kinesisspark.it.faults

import java.time.Duration

import scala.concurrent.duration.DurationInt

import io.github.kinesisspark.it.source.BatchLog
import io.github.kinesisspark.testkit.{ControlPlane, KinesisServerConfig}

/** Listings show a shard for a minute that has gone past retention. Answers are prompt, as a shard stands idle for a day. */
final class ExpiredShardListedSpec
    extends AwkwardSuite(KinesisServerConfig(control = ControlPlane(listingLag = 1.minute))) {
  describe("an unread shard that has gone past retention, and that listings still have,") {
    byEach("keeps no other shard from being read, and its children are read later with failOnDataLoss=false") { mode =>
      val source                = newStream(shards = 2)
      val Seq(passing, staying) = source.openShards().map(_.shardId): @unchecked
      val at                    = checkpoint()
      val log                   = new BatchLog
      val query                 = stream(source, mode, "failOnDataLoss" -> "false")
      val before                = put(source, "before", 40)
      running(query, at)(log.add) { _ =>
        eventually(log.rows.size shouldBe before.size)
        awaitCommit(at, log)
      }
      kinesis.streams.split(source.name, passing)
      serverClock.advance(Duration.ofHours(23))
      val late = put(source, "late", 40)
      serverClock.advance(Duration.ofHours(1))
      running(query, at)(log.add) { running =>
        def readsOn = log.rows.exists(row => row.shardId == staying && late.contains(row.text))
        eventually((readsOn || !running.isActive) shouldBe true)
        running.exception shouldBe None
        withClue("a listing that did not lag, so nothing was tested: ")(
          source.shards().map(_.shardId) should contain(passing)
        )
        serverClock.advance(Duration.ofMinutes(1))
        eventually(log.texts should contain allElementsOf late)
      }
      log.texts should contain theSameElementsAs before ++ late
    }
  }
}
